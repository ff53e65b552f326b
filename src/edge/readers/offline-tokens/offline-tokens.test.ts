import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { forgedTokens } from '../../../../test/worlds/forged-tokens.ts'
import { KeptBytes } from '../../../../test/worlds/kept-bytes.ts'
import { ISSUER, TokenIssuer, type TokenWish } from '../../../../test/worlds/token-issuer.ts'
import { publicJwk } from '../../../identity/jwk.ts'
import { generateKeys } from '../../../identity/keys.ts'
import type { Part, RunningPart } from '../../../process/lifecycle.ts'
import { ManualClock } from '../../../runtime/clock.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { SteadyTime } from '../steady-time.ts'
import { DeletedPods } from './deleted-pods.ts'
import { OfflineTime } from './offline-time.ts'
import { MAX_OFFLINE_TOKEN_CHARS, OfflineTokens, TOKEN_LEEWAY_MS } from './offline-tokens.ts'
import { RejectedTokens } from './rejected-tokens.ts'
import { RENEWAL_TIME_MS, SeenTokens } from './seen-tokens.ts'
import { KEYS_MIN_GAP_MS, KEYS_REFRESH_MS, SigningKeys } from './signing-keys.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const graceMs = 7 * dayMs
const noTime = AbortSignal.abort()

/** Everything that survives a process. */
class Disk {
  readonly keys = new KeptBytes()
  readonly seen = new KeptBytes()
  readonly rejected = new KeptBytes()
  readonly pods = new KeptBytes()
  readonly offline = new KeptBytes()
  readonly time = new KeptBytes()
}

class Node {
  readonly clock: ManualClock
  readonly keys: SigningKeys
  readonly seen: SeenTokens
  readonly rejected: RejectedTokens
  readonly pods: DeletedPods
  readonly offline: OfflineTime
  readonly time: SteadyTime
  readonly tokens: OfflineTokens
  readonly #running: RunningPart[] = []

  constructor(issuer: TokenIssuer, disk: Disk, clock: ManualClock) {
    const logger = createLogger({ level: 'fatal', format: 'json', clock, destination: { write: () => {} } })
    const common = { clock, logger }
    this.clock = clock
    this.time = new SteadyTime({ kept: disk.time, ...common })
    this.offline = new OfflineTime({ kept: disk.offline, ...common })
    this.keys = new SigningKeys({ fetch: issuer.fetch, kept: disk.keys, random: () => 1, ...common })
    this.seen = new SeenTokens({ kept: disk.seen, offlineTime: this.offline, ...common })
    this.rejected = new RejectedTokens({ kept: disk.rejected, ...common })
    this.pods = new DeletedPods({ kept: disk.pods, ...common })
    const { keys, seen, rejected, pods: deletedPods, time } = this
    this.tokens = new OfflineTokens({ keys, seen, rejected, deletedPods, time, graceMs })
  }

  async start(): Promise<void> {
    const parts: readonly Part[] = [this.time, this.offline, this.seen, this.rejected, this.pods, this.keys]
    for (const part of parts) this.#running.push(await part.start(new AbortController().signal, () => {}))
    await this.clock.advance(0)
  }

  async stop(): Promise<void> {
    for (const part of this.#running.splice(0).reverse()) await part.stop(noTime)
  }

  verify(token: string) {
    return this.tokens.verify(token, this.time.nowMs())
  }

  async kind(token: string): Promise<string> {
    return (await this.verify(token)).kind
  }
}

let issuer: TokenIssuer
let disk: Disk
let node: Node

beforeEach(async () => {
  issuer = new TokenIssuer()
  await issuer.addKey()
  disk = new Disk()
  node = new Node(issuer, disk, new ManualClock())
  await node.start()
})
afterEach(async () => {
  await node.stop()
  expect(node.clock.pending).toBe(0)
})

const token = (wish?: TokenWish): Promise<string> => issuer.token(node.clock.nowMs(), wish)

/** The machine loses power; its clock says something else afterwards. */
async function powerCut(epochMs: number): Promise<void> {
  const before = node
  node = new Node(issuer, disk, new ManualClock(epochMs))
  await node.start()
  await before.stop()
}

describe('a token without the API server', () => {
  it('is the user that the API server would make of it, without the id of the credential', async () => {
    expect(await node.verify(await token())).toEqual({
      kind: 'user',
      expiredForMs: 0,
      user: {
        name: 'system:serviceaccount:shop:reader',
        uid: 'sa-uid-1',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'],
        extra: {
          'authentication.kubernetes.io/node-name': ['edge-1'],
          'authentication.kubernetes.io/node-uid': ['node-uid-1'],
          'authentication.kubernetes.io/pod-name': ['reader-0'],
          'authentication.kubernetes.io/pod-uid': ['pod-uid-1'],
        },
      },
    })
  })

  it('may be signed with any algorithm that fits its key, as kube-apiserver has it', async () => {
    const rsa = await issuer.addKey({ type: 'rsa', bits: 2048 })
    const curves = [
      await issuer.addKey({ type: 'ec', curve: 'P-384' }),
      await issuer.addKey({ type: 'ec', curve: 'P-521' }),
    ]
    await node.clock.advance(KEYS_REFRESH_MS)
    for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'])
      expect([alg, await node.kind(await token({ key: rsa, header: { alg } }))]).toEqual([alg, 'user'])
    for (const key of curves) expect(await node.kind(await token({ key }))).toBe('user')
    const nameless = await token({ key: rsa, header: { kid: undefined } })
    expect(await node.kind(nameless)).toBe('user')
  })

  it('is never believed where it is forged', async () => {
    const good = await token()
    const key = issuer.keys[0]!
    for (const [what, forged] of forgedTokens(good, { ...publicJwk(key.publicKey) })) {
      const kind = await node.kind(forged)
      expect([what, ['forged', 'foreign', 'unknown-key'].includes(kind)]).toEqual([what, true])
      // And no other word of it the second time.
      expect([what, await node.kind(forged)]).toEqual([what, kind])
    }
    expect(await node.kind(good)).toBe('user')
  })

  it('is refused if it is for others, or for nobody', async () => {
    const vault = { kind: 'forged', why: 'it is not for the API server' }
    expect(await node.verify(await token({ audiences: ['vault'] }))).toEqual(vault)
    expect(await node.verify(await token({ audiences: 'vault' }))).toEqual(vault)
    expect(await node.kind(await token({ audiences: [1] }))).toBe('forged')
    expect(await node.kind(await token({ audiences: ['vault', ISSUER] }))).toBe('user')
    expect(await node.kind(await token({ kubernetes: undefined }))).toBe('forged')
    expect(await node.kind(await token({ kubernetes: { namespace: 'shop', serviceaccount: { name: 'x' } } }))).toBe(
      'forged',
    )
    expect(await node.kind(await token({ kubernetes: { namespace: 7 } }))).toBe('forged')
  })

  it('is foreign if it is of another issuer, or no JWT', async () => {
    const others = [await token({ issuer: 'https://accounts.example' }), '', 'opaque', 'a.b.c', 'x'.repeat(100_000)]
    for (const other of others) expect(await node.kind(other)).toBe('foreign')
    expect(await node.kind((await token()) + 'A'.repeat(MAX_OFFLINE_TOKEN_CHARS))).toBe('foreign')
  })

  it('is unknown, and not forged, with a key that is newer than those kept', async () => {
    const key = await generateKeys()
    expect(await node.kind(await token({ key }))).toBe('unknown-key')
    await node.stop()
    disk = new Disk()
    issuer.problem = new Error('unreachable')
    node = new Node(issuer, disk, new ManualClock())
    await node.start()
    expect(await node.kind(await token())).toBe('unknown-key')
    expect(await node.kind('opaque')).toBe('foreign')
  })

  it('costs one check however often it comes, and many at once are turned away', async () => {
    const good = await token()
    expect(await node.kind(good)).toBe('user')
    const strange = await generateKeys()
    const kid = publicJwk(issuer.keys[0]!.publicKey).kid
    const flood = await Promise.all(
      Array.from({ length: 400 }, (_, index) => token({ key: strange, header: { kid }, id: `${index}` })),
    )
    const kinds = await Promise.all([...flood.map((forged) => node.kind(forged)), node.kind(good)])
    expect(kinds.at(-1)).toBe('user')
    expect(new Set(kinds.slice(0, -1))).toEqual(new Set(['forged', 'busy']))
    expect(kinds.filter((kind) => kind === 'forged')).toHaveLength(260)
  })
})

describe('the keys', () => {
  it('are kept, fetched again at intervals, and dropped when the API server drops them', async () => {
    const [old] = issuer.keys
    const ofOld = await token({ lifeMs: dayMs })
    await issuer.addKey()
    await node.clock.advance(KEYS_REFRESH_MS)
    const ofNew = await token({ lifeMs: dayMs })
    issuer.problem = new Error('unreachable')
    await powerCut(node.clock.nowMs())
    expect([await node.kind(ofOld), await node.kind(ofNew)]).toEqual(['user', 'user'])
    issuer.problem = undefined
    issuer.keys = issuer.keys.filter((pair) => pair !== old)
    await node.keys.refresh(new AbortController().signal)
    expect([await node.kind(ofOld), await node.kind(ofNew)]).toEqual(['unknown-key', 'user'])
  })

  it('are fetched sooner when the API server accepts a token of an unknown one, but not in a circle', async () => {
    await node.clock.advance(KEYS_MIN_GAP_MS)
    const asked = issuer.asked.length
    const key = await generateKeys()
    for (let round = 0; round < 20; round++) await node.tokens.accepted(await token({ key, id: `${round}` }))
    await node.clock.advance(KEYS_MIN_GAP_MS - 1)
    expect(issuer.asked.length - asked).toBe(2)
  })

  it.each([
    ['an answer that is none', 200, '<html>'],
    ['an error', 403, '{}'],
    ['no keys', 200, '{"keys":[]}'],
    ['only a shared secret', 200, '{"keys":[{"kty":"oct","kid":"x","k":"AAAA"}]}'],
    ['a short key', 200, JSON.stringify({ keys: [shortKey()] })],
    ['too many keys', 200, JSON.stringify({ keys: Array.from({ length: 17 }, () => ({ kty: 'RSA' })) })],
    ['too much', 200, `{"keys":[],"x":"${'x'.repeat(300_000)}"}`],
  ])('survive %s', async (_what, status, text) => {
    const good = await token()
    const { fetch } = issuer
    Object.assign(issuer, { fetch: undefined })
    const odd = new SigningKeys({
      fetch: async (path) => (path === '/openid/v1/jwks' ? { status, text } : await fetch(path)),
      kept: disk.keys,
      clock: node.clock,
      random: () => 1,
      logger: createLogger({ level: 'fatal', format: 'json', clock: node.clock, destination: { write: () => {} } }),
    })
    const running = await odd.start()
    await expect(odd.refresh(new AbortController().signal)).rejects.toThrow()
    const { seen, rejected, pods: deletedPods, time } = node
    const tokens = new OfflineTokens({ keys: odd, seen, rejected, deletedPods, time, graceMs })
    expect((await tokens.verify(good, node.time.nowMs())).kind).toBe('user')
    await running.stop(noTime)
  })

  it('teach issuers and audiences by what the API server accepts, for good', async () => {
    const elsewhere = await token({ issuer: 'https://old.example', audiences: ['https://api.example'], lifeMs: dayMs })
    const alike = await token({ audiences: ['https://api.example'], id: 'another', lifeMs: dayMs })
    expect([await node.kind(elsewhere), await node.kind(alike)]).toEqual(['foreign', 'forged'])
    await node.tokens.accepted(elsewhere)
    await node.clock.advance(1)
    expect([await node.kind(elsewhere), await node.kind(alike)]).toEqual(['user', 'user'])
    await powerCut(node.clock.nowMs())
    expect([await node.kind(elsewhere), await node.kind(alike)]).toEqual(['user', 'user'])
    // Of two audiences nobody knows which it was.
    const both = await token({ audiences: ['vault', ISSUER], id: 'both' })
    await node.tokens.accepted(both)
    expect(await node.kind(await token({ audiences: ['vault'] }))).toBe('forged')
  })

  it('teach no audience by what was issued for others, and all by what is accepted after it was issued', async () => {
    const vault = await token({ audiences: ['vault'] })
    await node.tokens.issued(vault)
    expect([await node.kind(vault), await node.kind(await token({ audiences: ['vault'], id: 'b' }))]).toEqual([
      'forged',
      'forged',
    ])
    const own = await token({ audiences: ['https://api.example'] })
    await node.tokens.issued(own)
    expect(await node.kind(own)).toBe('forged')
    await node.tokens.accepted(own)
    expect(await node.kind(own)).toBe('user')
  })

  it('teach nothing by a token that they have not signed', async () => {
    const strange = await generateKeys()
    const kid = publicJwk(issuer.keys[0]!.publicKey).kid
    const forged = await token({ key: strange, header: { kid }, issuer: 'https://evil.example', audiences: ['evil'] })
    await node.tokens.accepted(forged)
    await node.tokens.accepted('opaque')
    expect(node.seen.size).toBe(0)
    expect(await node.kind(await token({ audiences: ['evil'] }))).toBe('forged')
  })
})

describe('an expired token', () => {
  it('has a minute of leeway, and no grace if it was not seen', async () => {
    const unseen = await token()
    node.offline.wentOffline()
    await node.clock.advance(hourMs + TOKEN_LEEWAY_MS)
    expect(await node.kind(unseen)).toBe('user')
    await node.clock.advance(1_000)
    expect(await node.kind(unseen)).toBe('expired')
  })

  it('is good for the grace if it was seen, counted in time offline', async () => {
    const seen = await token()
    await node.tokens.accepted(seen)
    node.offline.wentOffline()
    await node.clock.advance(hourMs + dayMs)
    expect(await node.verify(seen)).toMatchObject({ kind: 'user', expiredForMs: dayMs })
    // Two days online in between count nothing.
    node.offline.wentOnline()
    await node.clock.advance(2 * dayMs)
    node.offline.wentOffline()
    await node.clock.advance(5 * dayMs)
    expect(await node.verify(seen)).toMatchObject({ kind: 'user', expiredForMs: 6 * dayMs })
    await node.clock.advance(dayMs + 1)
    expect(await node.verify(seen)).toEqual({ kind: 'expired', why: 'it has expired, and its time of grace is over' })
  })

  it('gains nothing by power cuts and clocks that are set back', async () => {
    const startMs = node.clock.nowMs()
    const seen = await token()
    const unseen = await token({ id: 'unseen' })
    await node.tokens.accepted(seen)
    node.offline.wentOffline()
    await node.clock.advance(hourMs + 6 * dayMs)
    expect(await node.verify(seen)).toMatchObject({ kind: 'user', expiredForMs: 6 * dayMs })
    await node.clock.advance(hourMs)
    for (const epochMs of [0, startMs, startMs + 1_000 * dayMs]) {
      issuer.problem = new Error('unreachable')
      await powerCut(epochMs)
      node.offline.wentOffline()
      expect(await node.kind(unseen)).toBe('expired')
      const verdict = await node.verify(seen)
      expect(verdict).toMatchObject({ kind: 'user' })
      if (verdict.kind === 'user') expect(verdict.expiredForMs).toBeGreaterThanOrEqual(6 * dayMs)
    }
    await node.clock.advance(dayMs)
    expect(await node.kind(seen)).toBe('expired')
  })

  it('loses none of its grace by a clock that jumps years ahead', async () => {
    const seen = await token()
    await node.tokens.accepted(seen)
    node.offline.wentOffline()
    await node.clock.advance(1_000)
    node.clock.jumpTo(node.clock.nowMs() + 3_650 * dayMs)
    expect(await node.verify(seen)).toMatchObject({ kind: 'user', expiredForMs: 1_000 })
  })

  it('is not seen any more once the API server refuses it, or its owner had an hour online to renew it', async () => {
    const refused = await token()
    const renewed = await token({ id: 'renewed' })
    for (const each of [refused, renewed]) await node.tokens.accepted(each)
    await node.tokens.rejected(refused)
    node.offline.wentOffline()
    await node.clock.advance(3 * hourMs)
    expect([await node.kind(refused), await node.kind(renewed)]).toEqual(['expired', 'user'])
    node.seen.forgetRenewed(node.time.nowMs(), RENEWAL_TIME_MS)
    expect(await node.kind(renewed)).toBe('user')
    node.seen.forgetRenewed(node.time.nowMs(), RENEWAL_TIME_MS + 1)
    expect(await node.kind(renewed)).toBe('expired')
  })

  it('shows that it is later than the clock says, where it is from the future', async () => {
    issuer.problem = new Error('unreachable')
    const later = await token({ issuedMs: node.clock.nowMs() + 9 * dayMs })
    const before = await token({ lifeMs: dayMs })
    expect(await node.kind(before)).toBe('user')
    expect(await node.kind(later)).toBe('user')
    expect(await node.kind(before)).toBe('expired')
  })
})

describe('a token that the API server has rejected', () => {
  it('is refused however good it looks, also after a power cut, until it is taken again', async () => {
    const revoked = await token({ lifeMs: dayMs })
    await node.tokens.accepted(revoked)
    expect(await node.kind(revoked)).toBe('user')
    await node.tokens.rejected(revoked)
    expect(await node.verify(revoked)).toEqual({ kind: 'expired', why: 'the API server did not take it any more' })
    await node.clock.advance(1_000)
    await powerCut(node.clock.nowMs())
    expect(await node.kind(revoked)).toBe('expired')
    await node.tokens.accepted(revoked)
    expect(await node.kind(revoked)).toBe('user')
  })

  it('is not remembered where its signature is nobody’s', async () => {
    const forged = await token({ key: await generateKeys() })
    for (const each of [forged, 'opaque', 'x'.repeat(MAX_OFFLINE_TOKEN_CHARS + 1)]) await node.tokens.rejected(each)
    await node.clock.advance(1_000)
    expect(disk.rejected.bytes).toBeUndefined()
  })
})

describe('a token of a pod that was deleted', () => {
  it('is refused, also after a power cut', async () => {
    const good = await token({ lifeMs: dayMs })
    const other = await token({ podUid: 'pod-uid-2', lifeMs: dayMs })
    expect(await node.kind(good)).toBe('user')
    node.pods.add('pod-uid-1')
    expect(await node.verify(good)).toEqual({ kind: 'expired', why: 'its pod reader-0 was deleted' })
    await node.clock.advance(1_000)
    await powerCut(node.clock.nowMs())
    expect([await node.kind(good), await node.kind(other)]).toEqual(['expired', 'user'])
  })
})

describe('what is kept', () => {
  it('has hashes and no tokens, and survives damage', async () => {
    const seen = await token()
    await node.tokens.accepted(seen)
    await node.tokens.rejected(await token({ id: 'rejected' }))
    await node.clock.advance(10_000)
    expect(disk.seen.text).toMatch(/^\[\["[\w-]{43}",\d+,null\]\]$/)
    const all = [disk.seen, disk.rejected, disk.keys, disk.pods, disk.offline, disk.time].map(({ text }) => text).join()
    for (const part of seen.split('.')) expect(all).not.toContain(part)
    for (const each of [disk.seen, disk.rejected, disk.keys, disk.pods, disk.offline, disk.time])
      each.bytes = Buffer.from('{"x":[')
    await powerCut(node.clock.nowMs())
    await node.clock.advance(1)
    expect(await node.kind(seen)).toBe('user')
  })
})

function shortKey() {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  return { ...publicKey.export({ format: 'jwk' }), kid: 'short' }
}
