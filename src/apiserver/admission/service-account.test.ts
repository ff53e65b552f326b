import { describe, expect, it } from 'vitest'
import { admissionRequest, World } from '../../../test/worlds/admission-world.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { DEFAULT_ACCOUNT_RETRY_MS, DEFAULT_ACCOUNT_TRIES, ServiceAccount } from './service-account.ts'

const account = (name: string, rest: object = {}): KubeObject => ({ metadata: { name, namespace: 'work' }, ...rest })
const pod = (spec: object = {}): KubeObject => ({
  metadata: { name: 'p', namespace: 'work' },
  spec: { containers: [{ name: 'main' }], ...spec },
})

describe('ServiceAccount', () => {
  it('waits a little for the default account of a new namespace', async () => {
    const world = new World()
    const clock = new ManualClock()
    const request = admissionRequest({ resource: 'pods', object: pod() })
    const admitted = new ServiceAccount(world, clock).admit(request)
    await clock.advance(DEFAULT_ACCOUNT_RETRY_MS * 2)
    world.add('serviceaccounts', account('default'))
    await clock.advance(DEFAULT_ACCOUNT_RETRY_MS)
    await admitted
    expect(request.object).toMatchObject({ spec: { serviceAccountName: 'default', serviceAccount: 'default' } })
    expect(clock.pending).toBe(0)
  })

  it('says in the end that the default account is missing', async () => {
    const clock = new ManualClock()
    const request = admissionRequest({ resource: 'pods', object: pod() })
    const refused = expect(new ServiceAccount(new World(), clock).admit(request)).rejects.toThrow(
      'pods "p" is forbidden: error looking up service account work/default: serviceaccount "default" not found',
    )
    await clock.advance(DEFAULT_ACCOUNT_RETRY_MS * DEFAULT_ACCOUNT_TRIES)
    await refused
    expect(clock.pending).toBe(0)
  })

  it('waits for no other account', async () => {
    const clock = new ManualClock()
    const request = admissionRequest({ resource: 'pods', object: pod({ serviceAccountName: 'robot' }) })
    await expect(new ServiceAccount(new World(), clock).admit(request)).rejects.toThrow(
      'serviceaccount "robot" not found',
    )
  })

  it('checks the secrets of containers that are added to debug', () => {
    const annotations = { 'kubernetes.io/enforce-mountable-secrets': 'true' }
    const world = new World().add('serviceaccounts', { metadata: { name: 'strict', namespace: 'work', annotations } })
    const object = pod({
      serviceAccountName: 'strict',
      ephemeralContainers: [{ name: 'debug', envFrom: [{ secretRef: { name: 'other' } }] }],
    })
    const request = admissionRequest({
      resource: 'pods',
      operation: 'UPDATE',
      subresource: 'ephemeralcontainers',
      object,
    })
    expect(() => new ServiceAccount(world, new ManualClock()).validate(request)).toThrow(
      'ephemeral container debug with envFrom referencing secret.secretName="other" is not allowed because service account strict does not reference that secret',
    )
  })
})
