import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/objects.ts'
import { NodeGraph } from './graph.ts'

const nodes = ['', 'n1', 'n2']
const short = fc.constantFrom('a', 'b', 'c')

interface Step {
  readonly action: string
  readonly resource: 'pods' | 'persistentvolumes' | 'volumeattachments'
  readonly name: string
  readonly node: string
  readonly secret: string
  readonly claim: string
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    action: fc.constantFrom('put', 'put', 'remove'),
    resource: fc.constantFrom('pods', 'persistentvolumes', 'volumeattachments'),
    name: short,
    node: fc.constantFrom(...nodes),
    secret: short,
    claim: short,
  }),
  { maxLength: 20 },
)

function objectOf({ resource, name, node, secret, claim }: Step): KubeObject {
  if (resource === 'volumeattachments') return { metadata: { name }, spec: { nodeName: node } }
  if (resource === 'persistentvolumes') {
    const claimRef = { namespace: 'x', name: claim }
    return { metadata: { name }, spec: { claimRef, csi: { nodeStageSecretRef: { name: secret, namespace: 'x' } } } }
  }
  const volumes = [
    { name: 'v', secret: { secretName: secret } },
    { name: 'w', persistentVolumeClaim: { claimName: claim } },
  ]
  return { metadata: { name, namespace: 'x' }, spec: { nodeName: node, volumes } }
}

/** The relation searched for from scratch among the objects that are left. */
function related(left: readonly Step[], node: string, resource: string, name: string): boolean {
  const pods = left.filter((step) => step.resource === 'pods' && step.node === node && node !== '')
  const volumes = left.filter((step) => step.resource === 'persistentvolumes')
  const onNode = (claim: string): boolean => pods.some((pod) => pod.claim === claim)
  switch (resource) {
    case 'pods':
      return pods.some((pod) => pod.name === name)
    case 'persistentvolumeclaims':
      return onNode(name)
    case 'persistentvolumes':
      return volumes.some((volume) => volume.name === name && onNode(volume.claim))
    case 'secrets':
      return (
        pods.some((pod) => pod.secret === name) ||
        volumes.some((volume) => volume.secret === name && onNode(volume.claim))
      )
    default:
      return left.some((step) => step.resource === resource && step.name === name && step.node === node && node !== '')
  }
}

it('knows what a search among all objects would find, and forgets everything with them', () => {
  fc.assert(
    fc.property(steps, (script) => {
      const graph = new NodeGraph()
      const left = new Map<string, Step>()
      for (const step of script) {
        const key = `${step.resource}/${step.name}`
        const namespace = step.resource === 'pods' ? 'x' : ''
        if (step.action === 'put') {
          graph.put(step.resource, objectOf(step))
          left.set(key, step)
        } else {
          graph.remove(step.resource, namespace, step.name)
          left.delete(key)
        }
      }
      const kinds = ['pods', 'persistentvolumes', 'persistentvolumeclaims', 'secrets', 'volumeattachments'] as const
      for (const node of nodes) {
        for (const resource of kinds) {
          const namespace = resource === 'persistentvolumes' || resource === 'volumeattachments' ? '' : 'x'
          for (const name of ['a', 'b', 'c']) {
            const expected = related([...left.values()], node, resource, name)
            expect(graph.isRelated(node, resource, namespace, name)).toBe(expected)
          }
        }
      }
      for (const step of left.values()) graph.remove(step.resource, step.resource === 'pods' ? 'x' : '', step.name)
      expect(graph.size).toBe(0)
    }),
    { numRuns: 300 },
  )
})

it('follows a pod to another node and a pod of the same name in another namespace', () => {
  const graph = new NodeGraph()
  const pod = (namespace: string, nodeName: string): KubeObject => ({
    metadata: { name: 'p', namespace },
    spec: { nodeName, serviceAccountName: 's' },
  })
  graph.put('pods', pod('a', 'n1'))
  graph.put('pods', pod('b', 'n2'))
  expect(graph.isRelated('n1', 'serviceaccounts', 'b', 's')).toBe(false)
  graph.put('pods', pod('a', 'n2'))
  expect(graph.isRelated('n1', 'serviceaccounts', 'a', 's')).toBe(false)
  expect(graph.isRelated('n2', 'serviceaccounts', 'a', 's')).toBe(true)
})
