import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DAY_MS, EdgeHub, makeCa } from '../../../test/worlds/edge-hub.ts'
import { FragileDisk } from '../../../test/worlds/fragile-disk.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { generateKeys, keyFingerprint, privateKeyPem } from '../../identity/keys.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import { dialTcp } from '../../kube/client/connector.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { HubError } from '../hub/hub-error.ts'
import { EdgeFiles, edgePaths } from '../identity/edge-files.ts'
import { loadJoinedIdentity } from '../identity/edge-identity.ts'
import { type JoinOptions, type JoinProgress, joinHub } from './join.ts'
import { explainJoinFailure, JOIN_STEPS, JoinError } from './join-error.ts'

const paths = edgePaths('/d')
/** Nobody listens there. The port of a hub that was stopped may be somebody else's already. */
const nobody = 'https://127.0.0.1:1'
let clock: ManualClock
let hub: EdgeHub
let disk: FragileDisk
const others: EdgeHub[] = []

beforeEach(async () => {
  clock = new ManualClock()
  hub = await EdgeHub.start({ clock })
  disk = new FragileDisk()
})
afterEach(async () => {
  await Promise.all([hub, ...others.splice(0)].map((each) => each.stop()))
})

async function anotherHub(options: Partial<Parameters<typeof EdgeHub.start>[0]> = {}): Promise<EdgeHub> {
  const other = await EdgeHub.start({ clock, ...options })
  others.push(other)
  return other
}

async function join(options: Partial<JoinOptions> = {}) {
  const token = options.token ?? { kind: 'text', text: await hub.mint() }
  const files = new EdgeFiles('/d', disk)
  return await joinHub({ files, hubs: [hub.url], node: 'edge-1', clock, random: () => 0.5, ...options, token })
}

async function failure(options: Partial<JoinOptions> = {}): Promise<JoinError> {
  const error = await join(options).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(JoinError)
  return error as JoinError
}

async function text(content: Promise<string>): Promise<JoinOptions['token']> {
  return { kind: 'text', text: await content }
}

const names = (): string[] => [...disk.content().keys()].toSorted()

describe('a join', () => {
  it('takes seven steps, each announced when it begins and when it is done', async () => {
    const seen: JoinProgress[] = []
    const { outcome, identity } = await join({ progress: (each) => seen.push(each) })
    expect(outcome).toBe('joined')
    expect(identity.node).toBe('edge-1')
    expect(seen).toEqual(
      JOIN_STEPS.flatMap((text, index) => [
        { step: index + 1, total: 7, text, done: false },
        { step: index + 1, total: 7, text, done: true },
      ]),
    )
    expect(hub.log).toEqual(['GET /ca.crt', 'POST /edge.crt', 'GET /k8s/ca.crt'])
  })

  it('leaves exactly the files of an identity, private ones private', async () => {
    const { identity } = await join()
    expect(names()).toEqual(['/d/ca.crt', '/d/edge.crt', '/d/edge.json', '/d/edge.key', '/d/kubernetes-ca.crt'])
    expect(disk.modeOf(paths.pair.key)).toBe(0o600)
    expect(disk.modeOf(paths.record)).toBe(0o600)
    expect(disk.modeOf(paths.hubCa)).toBe(0o644)
    const loaded = await loadJoinedIdentity(new EdgeFiles('/d', disk), clock.nowMs())
    expect(loaded?.pair.keyPem).toBe(identity.pair.keyPem)
    expect(loaded?.record).toEqual(identity.record)
    expect(loaded?.record).toMatchObject({ node: 'edge-1', hubs: [hub.url], apiServerName: 'kubernetes.default.svc' })
    expect(loaded?.record.rotation?.fingerprint).toBe(identity.pair.chain[0].fingerprint)
  })

  it('removes a token file after success, and keeps it after a failure', async () => {
    disk = new FragileDisk(new Map([['/t/token', Buffer.from(`\n${await hub.mint()}\n`)]]))
    const token = { kind: 'file', path: '/t/token' } as const
    hub.kubernetesCaPem = hub.caPem
    await failure({ token })
    expect(names()).toContain('/t/token')
    hub.kubernetesCaPem = certificatePem(hub.kubernetesCa)
    await join({ token })
    expect(names()).not.toContain('/t/token')
  })

  it('succeeds although the token file cannot be removed, and says so', async () => {
    disk = new FragileDisk(new Map([['/t/token', Buffer.from(await hub.mint())]]))
    const remove = disk.remove
    disk.remove = async (path) => {
      if (path === '/t/token') throw new Error('read-only')
      await remove(path)
    }
    const result = await join({ token: { kind: 'file', path: '/t/token' } })
    expect(result).toMatchObject({ outcome: 'joined', tokenFileKept: 'cannot remove /t/token: read-only' })
  })

  it('takes the name of the node from a token for one node', async () => {
    const { identity } = await join({ node: undefined, token: await text(hub.mint({ node: 'edge-9' })) })
    expect(identity.node).toBe('edge-9')
  })

  it('waits for a hub that is busy', async () => {
    let refusals = 2
    hub.before = ({ path }) =>
      path === '/edge.crt' && refusals-- > 0
        ? { status: 503, body: '{"code":"overloaded","message":"later"}', headers: { 'retry-after': '3' } }
        : undefined
    const sleeps: number[] = []
    clock.sleep = async (delayMs) => void sleeps.push(delayMs)
    await join()
    expect(sleeps).toEqual([8_000, 8_000])
  })

  it('goes on to the next hub when one is away', async () => {
    const { identity } = await join({ hubs: [nobody, hub.url] })
    expect(identity.record.hubs).toEqual([nobody, hub.url])
  })
})

describe('a join without a name of its own', () => {
  it('takes that of the token, else the one the folder has, else the fallback', async () => {
    const fallback = { node: undefined, fallbackNode: 'host-1' }
    const first = await join({ ...fallback, token: await text(hub.mint({ node: 'host-*' })) })
    expect(first).toMatchObject({ outcome: 'joined', identity: { node: 'host-1' } })
    const again = await join({ ...fallback, fallbackNode: 'host-2' })
    expect(again).toMatchObject({ outcome: 'already-joined', identity: { node: 'host-1' } })
    disk = new FragileDisk()
    const named = await join({ ...fallback, token: await text(hub.mint({ node: 'edge-2' })) })
    expect(named.identity.node).toBe('edge-2')
  })
})

describe('a join fails with the step, the reason and what to do', () => {
  it('for a text that is no token', async () => {
    const error = await failure({ token: { kind: 'text', text: 'nonsense' } })
    expect(error).toMatchObject({ step: 1, code: 'token-malformed' })
    expect(error.message).toMatch(/^step 1 of 7, read the join token: .* causeway token create\.$/)
    expect(hub.log).toEqual([])
  })

  it('for a token that is empty', async () => {
    const error = await failure({ token: { kind: 'text', text: ' \n' } })
    expect(error).toMatchObject({ step: 1, code: 'token-malformed' })
    expect(error.why).toMatch(/^what was given as the join token is empty: /)
  })

  it('in sentences that end once, and say what to do once', () => {
    const said = new JoinError(5, 'x', 'is there something between us and the hub?', 'The log of the hub says more')
    expect(said.message).toMatch(/the hub\? The log of the hub says more\.$/)
    const usedUp = new HubError('refusal', 'token-used-up', 'all are used; get a new one with causeway token create', {
      retryable: false,
    })
    const context = { step: 5, hubs: 'h', node: 'edge-1', nowMs: 0, skewMs: 0 } as const
    expect((explainJoinFailure(usedUp, context) as JoinError).message).toMatch(
      /: all are used\. Make a new token and give it whole: causeway token create\.$/,
    )
  })

  it('for a token file that is not there', async () => {
    const error = await failure({ token: { kind: 'file', path: '/t/none' } })
    expect(error).toMatchObject({ step: 1, code: 'token-missing', why: 'there is no token file /t/none' })
  })

  it.each([
    ['no-node-name', undefined, 'edge-*'],
    ['no-node-name', undefined, undefined],
    ['name-invalid', 'Edge_1', undefined],
    ['token-for-other-node', 'edge-1', 'edge-2'],
  ])('%s, before the hub is asked anything', async (code, node, pattern) => {
    const token = await text(hub.mint(pattern === undefined ? {} : { node: pattern }))
    expect(await failure({ node, token })).toMatchObject({ step: 1, code })
    expect(hub.log).toEqual([])
  })

  it('for an address that is none', async () => {
    expect(await failure({ hubs: ['http://hub'] })).toMatchObject({ step: 1, code: 'hub-address' })
  })

  it('for a CA that was swapped in flight, and never shows the token to that hub', async () => {
    hub.caPem = certificatePem((await makeCa(clock)).certificate)
    const error = await failure()
    expect(error).toMatchObject({ step: 3, code: 'wrong-hash' })
    expect(error.advice).toContain('The token was not sent')
    expect(hub.log).toEqual(['GET /ca.crt'])
    expect(names()).toEqual([])
  })

  it('for the token of another cluster', async () => {
    expect(await failure({ token: await text((await anotherHub()).mint()) })).toMatchObject({ code: 'wrong-hash' })
  })

  it('for TLS interception after the CA was fetched, and never shows the token to it', async () => {
    const interceptor = await anotherHub()
    let dials = 0
    const error = await failure({
      dial: async (target, signal) =>
        await dialTcp(dials++ === 0 ? target : { ...target, port: interceptor.port }, signal),
    })
    expect(error).toMatchObject({ step: 5, code: 'hub-untrusted' })
    expect(error.advice).toContain('opens TLS')
    expect(interceptor.log).toEqual([])
  })

  it('for an address the certificate does not name, with those it names and the flag that adds one', async () => {
    const other = await anotherHub({ names: { dnsNames: ['hub.example'], ipAddresses: ['10.0.0.1'] } })
    const error = await failure({ hubs: [other.url], token: await text(other.mint()) })
    expect(error).toMatchObject({ step: 5, code: 'hub-wrong-host' })
    expect(error.why).toContain('hub.example, 10.0.0.1')
    expect(error.advice).toContain('--advertise')
  })

  it('for nobody who listens', async () => {
    expect(await failure({ hubs: [nobody] })).toMatchObject({ step: 2, code: 'refused' })
  })

  it.each([
    ['ENOTFOUND', 'dns', 'name servers'],
    ['EHOSTUNREACH', 'unreachable', 'firewalls'],
  ])('for %s', async (systemCode, code, advice) => {
    const dial = async () => {
      throw Object.assign(new Error(`connect ${systemCode}`), { code: systemCode })
    }
    const error = await failure({ dial })
    expect(error).toMatchObject({ step: 2, code })
    expect(error.advice).toContain(advice)
  })

  it('for an expired token', async () => {
    const token = await text(hub.mint({ expiresAtMs: clock.nowMs() - DAY_MS, issuedAtMs: clock.nowMs() - 2 * DAY_MS }))
    const error = await failure({ token })
    expect(error).toMatchObject({ step: 5, code: 'token-expired' })
    expect(error.advice).toContain('causeway token create')
  })

  it('for a token that only the clock of the hub finds expired: both clocks are named', async () => {
    hub.clockSkewMs = 3 * DAY_MS
    const error = await failure()
    expect(error).toMatchObject({ step: 5, code: 'clock-skew' })
    expect(error.why).toContain(
      'the clock here says 2026-01-01T00:00:00.000Z, that of the hub 2026-01-04T00:00:00.000Z',
    )
  })

  it('for a clock that is behind: the certificate of the hub is not valid yet', async () => {
    const token = await text(hub.mint())
    clock.jumpTo(Date.UTC(1970, 0, 1))
    hub.clockSkewMs = Date.UTC(2026, 0, 1) - clock.nowMs()
    expect(await failure({ token })).toMatchObject({ step: 5, code: 'clock-skew' })
  })

  it('for a name that is taken, and a node that is there already', async () => {
    await join()
    disk = new FragileDisk()
    const taken = await failure()
    expect(taken).toMatchObject({ step: 5, code: 'name-taken' })
    expect(taken.advice).toContain('causeway token create --node edge-1')
    hub.nodesInCluster.add('control-plane')
    expect(await failure({ node: 'control-plane' })).toMatchObject({ step: 5, code: 'node-exists' })
  })

  it('for a Kubernetes CA that the hub swapped', async () => {
    hub.kubernetesCaPem = certificatePem((await makeCa(clock, 'kubernetes')).certificate)
    const error = await failure()
    expect(error).toMatchObject({ step: 6, code: 'wrong-kubernetes-ca' })
    expect(names()).toEqual(['/d/join.key'])
  })

  it.each([
    ['about another node', { subject: nodeSubject('edge-2') }],
    ['that may not be used by clients', { extendedKeyUsages: ['serverAuth'] as const }],
  ])('for a certificate %s', async (_what, template) => {
    const { publicKey, privateKey } = await generateKeys()
    disk = new FragileDisk(new Map([[paths.joinKey, Buffer.from(privateKeyPem(privateKey))]]))
    const right = { subject: nodeSubject('edge-1'), extendedKeyUsages: ['clientAuth'] as const }
    const life = validityFromNow(clock, DAY_MS)
    const wrong = await issueCertificate(hub.authority, { ...right, ...life, ...template }, publicKey)
    hub.before = ({ path }) => (path === '/edge.crt' ? { status: 200, body: certificatePem(wrong) } : undefined)
    expect(await failure()).toMatchObject({ step: 6, code: 'bad-certificate' })
    expect(names()).toEqual(['/d/join.key'])
  })

  it('for a certificate of another key', async () => {
    const { publicKey } = await generateKeys()
    const life = validityFromNow(clock, DAY_MS)
    const wrong = await issueCertificate(hub.authority, { subject: nodeSubject('edge-1'), ...life }, publicKey)
    hub.before = ({ path }) => (path === '/edge.crt' ? { status: 200, body: certificatePem(wrong) } : undefined)
    expect(await failure()).toMatchObject({ step: 5, code: 'key-mismatch' })
  })

  it('for a proxy that answers in the place of the hub', async () => {
    hub.before = ({ path }) => (path === '/edge.crt' ? { status: 403, body: '<html>blocked</html>' } : undefined)
    const error = await failure()
    expect(error).toMatchObject({ step: 5, code: 'http-403' })
    expect(error.why).toContain('something between us and the hub')
  })
})

describe('joining again', () => {
  it('with a lost answer uses the same key, for which the hub answers again', async () => {
    hub.after = ({ path }) => (path === '/edge.crt' ? 'lose' : 'send')
    expect(await failure()).toMatchObject({ step: 5, code: 'reset' })
    const claim = hub.claims.get('edge-1')
    hub.after = () => 'send'
    const { identity } = await join()
    expect(hub.claims.get('edge-1')).toEqual(claim)
    expect(keyFingerprint(identity.pair.privateKey)).toBe((claim as { current: string }).current)
  })

  it('with a good identity says so and changes nothing', async () => {
    await join()
    const before = disk.content()
    const result = await join()
    expect(result.outcome).toBe('already-joined')
    expect(disk.content()).toEqual(before)
    expect(hub.log.slice(3)).toEqual(['GET /v1/node'])
  })

  it('with a good identity takes over new addresses of the same hub', async () => {
    await join()
    const hubs = [`https://localhost:${hub.port}`]
    expect((await join({ hubs })).identity.record.hubs).toEqual(hubs)
    expect((await new EdgeFiles('/d', disk).readRecord())?.hubs).toEqual(hubs)
  })

  it('with a good identity and no hub in reach keeps both identity and token', async () => {
    await join()
    const before = disk.content()
    const result = await join({ hubs: [nobody] })
    expect(result).toMatchObject({ outcome: 'unchecked', identity: { node: 'edge-1' } })
    expect(result.uncheckedBecause).toContain('ECONNREFUSED')
    expect(disk.content()).toEqual(before)
  })

  it('after the node was forgotten gets a new key', async () => {
    const first = await join()
    await clock.advance(DAY_MS)
    hub.forget('edge-1')
    const second = await join()
    expect(second.outcome).toBe('joined')
    expect(second.identity.pair.keyPem).not.toBe(first.identity.pair.keyPem)
  })

  it('after another key took the name is told to bring a token for this node, and keeps its files', async () => {
    await join()
    const mine = disk.content()
    disk = new FragileDisk()
    await join({ token: await text(hub.mint({ node: 'edge-1' })) })
    disk = new FragileDisk(mine)
    expect(await failure()).toMatchObject({ step: 5, code: 'name-taken' })
    for (const [path, content] of mine) expect(disk.content().get(path)).toEqual(content)
  })

  it('with a certificate that ended long ago goes on with its key, so that any token will do', async () => {
    const first = await join()
    await clock.advance(60 * DAY_MS)
    const second = await join()
    expect(second.outcome).toBe('joined')
    expect(second.identity.pair.keyPem).toBe(first.identity.pair.keyPem)
    expect(second.identity.pair.certificatePem).not.toBe(first.identity.pair.certificatePem)
  })

  it('after the token file was removed starts with what is there, also when only a renewal can help', async () => {
    const token = { kind: 'file', path: '/t/token' } as const
    disk = new FragileDisk(new Map([['/t/token', Buffer.from(await hub.mint())]]))
    await join({ token })
    expect(await join({ token })).toMatchObject({ outcome: 'already-joined', identity: { node: 'edge-1' } })
    expect((await join({ token, node: undefined })).outcome).toBe('already-joined')
    expect(await failure({ token, node: 'edge-2' })).toMatchObject({ step: 1, code: 'other-node' })
    await clock.advance(33 * DAY_MS)
    const late = await join({ token })
    expect(late.outcome).toBe('unchecked')
    expect(late.uncheckedBecause).toContain('has expired')
  })

  it('as another node is refused', async () => {
    await join()
    const before = disk.content()
    expect(await failure({ node: 'edge-2' })).toMatchObject({ step: 1, code: 'other-node' })
    expect(disk.content()).toEqual(before)
  })

  it('at another hub moves the node there', async () => {
    await join()
    const other = await anotherHub()
    const result = await join({ hubs: [other.url], token: await text(other.mint()) })
    expect(result.outcome).toBe('joined')
    const loaded = await loadJoinedIdentity(new EdgeFiles('/d', disk), clock.nowMs())
    expect(loaded?.record.hubs).toEqual([other.url])
  })

  it('replaces a damaged identity if it has a token, and never one of a newer program', async () => {
    await join()
    const content = disk.content()
    disk = new FragileDisk(new Map([...content, [paths.record, Buffer.from('{"version":1}')]]))
    expect((await join({ token: await text(hub.mint({ node: 'edge-1' })) })).outcome).toBe('joined')
    disk = new FragileDisk(new Map([...content, [paths.record, Buffer.from('{"version":2}')]]))
    expect(await failure()).toMatchObject({ step: 1, code: 'bad-identity' })
    const token = { kind: 'file', path: '/t/none' } as const
    disk = new FragileDisk(new Map([...content].filter(([path]) => path !== paths.hubCa)))
    expect((await failure({ token })).why).toContain('/d/ca.crt is missing')
  })
})
