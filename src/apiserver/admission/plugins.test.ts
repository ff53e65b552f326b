import { describe, expect, it } from 'vitest'
import { admissionRequest, World } from '../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { EscalationCheck } from '../auth/rbac/escalation.ts'
import { RbacView } from '../auth/rbac/view.ts'
import { Admission } from '../core/admission.ts'
import { type Authorizer, NO_OPINION, NO_RULES } from '../request/authorizer.ts'
import { admissionPlugins } from './plugins.ts'

const nobodyMay: Authorizer = { authorize: () => NO_OPINION, rulesFor: () => NO_RULES }

function pluginsFor(world: World, disabled: readonly string[] = []) {
  const escalation = new EscalationCheck(new RbacView(), nobodyMay)
  return admissionPlugins({ lookup: world, clock: new ManualClock(), authorizer: nobodyMay, escalation }, disabled)
}

const kubectlTestSuite = [
  'ServiceAccount',
  'DefaultTolerationSeconds',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
]

describe('the list of plugins', () => {
  it('leaves out what is disabled and keeps the order', () => {
    const all = pluginsFor(new World()).map(({ name }) => name)
    const some = pluginsFor(new World(), kubectlTestSuite).map(({ name }) => name)
    expect(some).toEqual(all.filter((name) => !kubectlTestSuite.includes(name)))
    expect(all[0]).toBe('NotYetServed')
    expect(all.at(-1)).toBe('ResourceQuota')
  })

  it.each(['NoSuchPlugin', 'RbacEscalation', 'NotYetServed'])('does not disable %s', (name) => {
    expect(() => pluginsFor(new World(), [name])).toThrow(`cannot disable the admission plugin "${name}": choose from`)
  })
})

describe('a pod on its way through all plugins', () => {
  const world = (): World =>
    new World()
      .add('namespaces', { metadata: { name: 'work' } })
      .add('serviceaccounts', { metadata: { name: 'default', namespace: 'work' } })
      .add('limitranges', {
        metadata: { name: 'l', namespace: 'work' },
        spec: { limits: [{ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '500m' } }] },
      })
      .add('resourcequotas', {
        metadata: { name: 'q', namespace: 'work' },
        spec: { hard: { 'requests.cpu': '500m' } },
      })
  const pod = (name: string): KubeObject => ({
    metadata: { name, namespace: 'work' },
    spec: { containers: [{ name: 'main', image: 'i' }] },
  })

  it('gets its defaults, and is counted with them', async () => {
    const admission = new Admission(pluginsFor(world()))
    const first = admissionRequest({ resource: 'pods', object: pod('first') })
    await admission.admit(first)
    await admission.validate(first)
    expect(first.object).toMatchObject({
      metadata: {
        annotations: { 'kubernetes.io/limit-ranger': expect.stringContaining('cpu request for container main') },
      },
      spec: {
        serviceAccountName: 'default',
        priority: 0,
        preemptionPolicy: 'PreemptLowerPriority',
        containers: [{ resources: { requests: { cpu: '500m' }, limits: { cpu: '1' } } }],
        tolerations: [{ tolerationSeconds: 300 }, { tolerationSeconds: 300 }],
        volumes: [{ name: expect.stringMatching(/^kube-api-access-[a-z0-9]{5}$/) }],
      },
    })
    const second = admissionRequest({ resource: 'pods', object: pod('second') })
    await admission.admit(second)
    await expect(admission.validate(second)).rejects.toThrow(
      'pods "second" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=500m, limited: requests.cpu=500m',
    )
  })
})
