/** Root on one edge against both servers: the real kube-apiserver must refuse and allow the same, for the same reason. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Attack, type Facts, TEAM } from '../attack/node-attack.ts'
import { nodeAttacks, WORLD } from '../attack/node-attacks.ts'
import { CSRS, signingRequests } from '../attack/node-attacks-certificates.ts'
import { describeReal } from './harness.ts'
import { differencesOf } from './twin-attacks.ts'
import { startTwins, type TwinName, type Twins } from './twins.ts'

const node = 'system:node:edge-1'

describeReal('root on one edge', () => {
  let twins: Twins
  let attacks: Record<TwinName, readonly Attack[]>

  beforeAll(async () => {
    twins = await startTwins([{ name: node, groups: ['system:nodes'] }])
    const requests = await signingRequests()
    for (const [path, object] of WORLD) await twins.create(path, object)
    const spec = {
      request: requests.own,
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['client auth'],
    }
    await twins.create(CSRS, { metadata: { name: 'made' }, spec })
    const real = nodeAttacks(await factsOf('real'), requests)
    attacks = { real, ours: nodeAttacks(await factsOf('ours'), requests) }
    // A server believes in a pod of a node a moment after it was made.
    const target = `${TEAM}/persistentvolumeclaims/mine`
    for (const twin of ['real', 'ours'] as const) {
      while ((await twins.ask(twin, { method: 'GET', target, by: node })).status !== 200);
    }
  })

  afterAll(() => twins?.stop())

  async function factsOf(twin: TwinName): Promise<Facts> {
    const uidOf = async (target: string): Promise<string> => {
      const { text } = await twins.ask(twin, { method: 'GET', target, by: 'admin' })
      return (JSON.parse(text) as { metadata: { uid: string } }).metadata.uid
    }
    return {
      nodeUid: await uidOf('/api/v1/nodes/edge-1'),
      otherNodeUid: await uidOf('/api/v1/nodes/edge-2'),
      podUid: await uidOf(`${TEAM}/pods/mine`),
      otherPodUid: await uidOf(`${TEAM}/pods/theirs`),
    }
  }

  it('gets as far with both', async () => {
    expect((await differencesOf(twins, attacks, () => ({ by: node }))).join('\n')).toBe('')
  })
})
