/** Root on one edge against both servers: the real kube-apiserver must refuse and allow the same, for the same reason. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Attack, type Facts, TEAM } from '../attack/node-attack.ts'
import { nodeAttacks, WORLD } from '../attack/node-attacks.ts'
import { CSRS, signingRequests } from '../attack/node-attacks-certificates.ts'
import { describeReal } from './harness.ts'
import { describeDifference, type Shown, shownBy } from './twin-answers.ts'
import { type Answered, startTwins, type TwinName, type Twins } from './twins.ts'

const node = 'system:node:edge-1'
const sight = { isMade: (): boolean => true }

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
    const differences: string[] = []
    for (const [index, attack] of attacks.real.entries()) {
      const real = comparable(await twins.ask('real', { ...attack, by: node }), attack)
      const ours = comparable(await twins.ask('ours', { ...(attacks.ours[index] as Attack), by: node }), attack)
      const isAsExpected = real.status < 300 === (attack.isAllowed === true)
      if (isAsExpected && JSON.stringify(real) === JSON.stringify(ours)) continue
      differences.push(`${attack.what}\n${describeDifference({ ...attack, by: node }, { real, ours })}`)
    }
    expect(differences.join('\n')).toBe('')
  })
})

const uids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
/** Refusals that are the same, in other words: with a name that was drawn, with another right that is lacking, with a drawing. */
const inOtherWords = /under a drawn name|^plays|changes the phase of its claim/

function comparable(answer: Answered, { what }: Attack): Shown {
  const { message, ...shown } = shownBy(answer, sight)
  // Both stores have no room for it, and say so in their own way.
  if (what === 'tells a long story') return { status: shown.status }
  return message === undefined || inOtherWords.test(what)
    ? shown
    : { ...shown, message: message.replaceAll(uids, 'uid') }
}
