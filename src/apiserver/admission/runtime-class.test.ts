import { expect, it } from 'vitest'
import { admissionRequest, World } from '../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { RuntimeClass } from './runtime-class.ts'

const sandbox: KubeObject = {
  metadata: { name: 'sandbox' },
  overhead: { podFixed: { cpu: '10m' } },
  scheduling: { nodeSelector: { box: 'yes' }, tolerations: [{ key: 'a', operator: 'Exists' }] },
}
const plugin = new RuntimeClass(
  new World().add('node.k8s.io/v1/runtimeclasses', sandbox, { metadata: { name: 'bare' } }),
)
const pod = (spec: object): KubeObject => ({ metadata: { name: 'p', namespace: 'work' }, spec: { ...spec } })

function admit(spec: object): unknown {
  const object = pod(spec)
  const request = admissionRequest({ resource: 'pods', object })
  plugin.admit(request)
  plugin.validate(request)
  return object['spec']
}

it('gives a pod the overhead, the nodes and the tolerations of its class', () => {
  const own = [
    { key: 'a', operator: 'Equal', value: 'x' },
    { key: 'b', operator: 'Exists' },
  ]
  expect(admit({ runtimeClassName: 'sandbox', nodeSelector: { disk: 'ssd' }, tolerations: own })).toEqual({
    runtimeClassName: 'sandbox',
    overhead: { cpu: '10m' },
    nodeSelector: { disk: 'ssd', box: 'yes' },
    tolerations: [
      { key: 'b', operator: 'Exists' },
      { key: 'a', operator: 'Exists' },
    ],
  })
  expect(admit({ runtimeClassName: 'bare' })).toEqual({ runtimeClassName: 'bare' })
  expect(admit({})).toEqual({})
})

it('takes an overhead that is written differently', () => {
  expect(admit({ runtimeClassName: 'sandbox', overhead: { cpu: '0.01' } })).toMatchObject({ overhead: { cpu: '10m' } })
})

it.each([
  [{ runtimeClassName: 'nobody' }, 'pod rejected: RuntimeClass "nobody" not found'],
  [{ runtimeClassName: 'sandbox', overhead: { cpu: '20m' } }, "Pod's Overhead doesn't match RuntimeClass's"],
  [{ overhead: { cpu: '1' } }, 'Pod Overhead set without corresponding RuntimeClass defined Overhead'],
  [
    { runtimeClassName: 'sandbox', nodeSelector: { box: 'no' } },
    'conflict: runtimeClass.scheduling.nodeSelector[box] = yes; pod.spec.nodeSelector[box] = no',
  ],
])('refuses %j', (spec, why) => {
  expect(() => admit(spec)).toThrow(why)
})
