import { UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { FakeCluster, makeCa } from '../../../test/worlds/fake-cluster.ts'
import { connectAgent, startAgentHub } from '../../../test/worlds/konnectivity-world.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { AGENT_TOKEN_REVIEW_MS, createAgentIdentity } from './agent-identity.ts'
import { AgentTokens, type ReviewedUser } from './agent-tokens.ts'

const nodeName = 'authentication.kubernetes.io/node-name'
const podName = 'authentication.kubernetes.io/pod-name'
const podUid = 'authentication.kubernetes.io/pod-uid'
const username = 'system:serviceaccount:kube-system:konnectivity-agent'
const allowed = ['kube-system/konnectivity-agent']

const users: Readonly<Record<string, ReviewedUser>> = {
  good: { username, extra: { [nodeName]: ['edge-1'] } },
  old: { username, extra: { [podName]: ['agent-x'], [podUid]: ['uid-1'] } },
  unbound: { username, extra: {} },
  other: { username: 'system:serviceaccount:default:konnectivity-agent', extra: { [nodeName]: ['edge-1'] } },
  person: { username: 'admin', extra: { [nodeName]: ['edge-1'] } },
  twice: { username, extra: { [nodeName]: ['edge-1', 'edge-2'] } },
}

const tokens = new AgentTokens({
  allowed,
  review: async (token) => {
    if (token === 'outage') throw new Error('no API server')
    return users[token]
  },
  nodeOfPod: async (namespace, name, uid) =>
    `${namespace}/${name}/${uid}` === 'kube-system/agent-x/uid-1' ? 'edge-7' : undefined,
})

describe('the token of an agent', () => {
  it('names the node of its pod', async () => {
    expect((await tokens.identify('Bearer good\n')).node).toBe('edge-1')
    expect((await tokens.identify('Bearer old')).node).toBe('edge-7')
  })

  it.each([
    ['Basic good', 'token-missing'],
    ['Bearer ', 'token-missing'],
    ['Bearer good, Bearer good', 'token-missing'],
    [`Bearer ${'x'.repeat(9_000)}`, 'token-missing'],
    ['Bearer unknown', 'token-invalid'],
    ['Bearer unbound', 'token-invalid'],
    ['Bearer twice', 'token-invalid'],
    ['Bearer other', 'token-invalid'],
    ['Bearer person', 'token-invalid'],
    ['Bearer outage', 'cluster-unavailable'],
  ])('%s is refused as %s', async (authorization, code) => {
    await expect(tokens.identify(authorization)).rejects.toMatchObject({ code })
  })

  it('is looked at again on demand', async () => {
    let user: ReviewedUser | undefined = users['good']
    const changing = new AgentTokens({ allowed, review: async () => user })
    const identity = await changing.identify('Bearer x')
    await expect(identity.recheck()).resolves.toBeUndefined()
    user = { username, extra: { [nodeName]: ['edge-2'] } }
    await expect(identity.recheck()).rejects.toMatchObject({ code: 'node-mismatch' })
    user = undefined
    await expect(identity.recheck()).rejects.toMatchObject({ code: 'token-invalid' })
  })

  it('is allowed by NAMESPACE/NAME', () => {
    expect(() => new AgentTokens({ allowed: ['konnectivity-agent'], review: async () => undefined })).toThrow(
      'NAMESPACE/NAME',
    )
  })

  const metadata = { agentid: 'a', agentidentifiers: '', authorization: 'Bearer good' }

  it('lets an agent in where the hub takes tokens, and nowhere else', async () => {
    const open = await startAgentHub({ tokens })
    await connectAgent(open, undefined, metadata)
    expect(open.agents.of('edge-1')?.description).toContain('token of kube-system/konnectivity-agent')
    const closed = await startAgentHub()
    await expect(connectAgent(closed, undefined, metadata)).rejects.toMatchObject({ code: 16 })
  })

  it('is in doubt every few minutes, until it is reviewed again', async () => {
    const clock = new ManualClock()
    const cluster = new FakeCluster(clock, await makeCa(clock))
    const identify = createAgentIdentity({ cluster, clock, tokens })
    const peer = { address: '192.0.2.1', source: '192.0.2.1', certificates: [], identified: () => {} }
    const identity = await identify(peer, 'Bearer good')
    await clock.advance(AGENT_TOKEN_REVIEW_MS - 1)
    expect(identity.isDoubtful()).toBe(false)
    await clock.advance(1)
    expect(identity.isDoubtful()).toBe(true)
    await identity.recheck()
    expect(identity.isDoubtful()).toBe(false)
  })

  it('ends its agent when it ends, as the token itself says', async () => {
    const forever = new AgentTokens({ allowed, review: async () => users['good'] })
    const hub = await startAgentHub({ tokens: forever })
    const token = new UnsecuredJWT({}).setExpirationTime(Math.floor(hub.clock.nowMs() / 1000) + 8).encode()
    const agent = await connectAgent(hub, undefined, { ...metadata, authorization: `Bearer ${token}` })
    await hub.clock.advance(6_000)
    expect(hub.agents.all.length).toBe(1)
    await hub.clock.advance(2_000)
    expect(await agent.closed).toMatchObject({ message: 'expired' })
  })

  it('does not make up for a certificate, nor rename the node of one', async () => {
    const hub = await startAgentHub({ tokens })
    await connectAgent(hub, await hub.credential('edge-9'), metadata)
    expect(hub.agents.all.map(({ node }) => node)).toEqual(['edge-9'])
  })
})
