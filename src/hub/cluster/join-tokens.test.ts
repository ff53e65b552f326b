import { createHmac } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type OwnApiServer, startOwnApiServer, UnreliableTransport } from '../../../test/worlds/own-api-server.ts'
import { caSha256, JOIN_TOKEN_CLOCK_TOLERANCE_MS, type JoinClaims, readJoinToken } from '../../identity/join-token.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { configMaps, namespaces, secrets } from '../../kube/client/kinds.ts'
import { ManualClock, systemClock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { Refusal } from '../refusal.ts'
import { JOIN_TOKEN_SECRET, TOKEN_KEYS_SECRET, tokenRecordName } from '../shared/names.ts'
import { readClusterInfo } from './cluster-info.ts'
import { SharedJoinTokens } from './join-tokens.ts'
import { type OpenCluster, openCluster } from './open-cluster.ts'
import { TokenAdministration } from './token-administration.ts'
import { TokenKeeper } from './token-keeper.ts'
import { MIN_KEY_REREAD_MS, TOKEN_KEY_LIFE_MS, TokenKeys } from './token-keys.ts'
import { EXPIRED_RECORD_KEPT_MS, MAX_TOKEN_USES, TokenRecords } from './token-records.ts'

const logger = pino({ level: 'silent' })
const dayMs = 86_400_000
const [keyA, keyB] = ['aa'.repeat(32), 'bb'.repeat(32)] as [string, string]

let server: OwnApiServer
let admin: KubeClient
let namespace: string
let clock: ManualClock
let cluster: OpenCluster
let tokens: TokenAdministration
let count = 0
beforeAll(async () => {
  server = await startOwnApiServer()
  admin = server.client()
})
afterAll(async () => {
  await server.stop()
})
beforeEach(async () => {
  namespace = `tokens-${++count}`
  clock = new ManualClock(systemClock.nowMs())
  cluster = await openAnother()
  tokens = new TokenAdministration({ client: admin, namespace, clock })
})

function openAnother(client = admin): Promise<OpenCluster> {
  return openCluster({ client, namespace, clock, logger, addresses: ['hub.example'], certificateUseMs: dayMs })
}

const jwtOf = (text: string): string => readJoinToken(text).jwt
const options = (client = admin) => ({ client, namespace, clock, random: systemRandom })

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error === undefined) return 'allowed'
  expect(error).toBeInstanceOf(Refusal)
  return (error as Refusal).code
}

describe('a token made on the command line', () => {
  it('is accepted by every hub, and pins both CAs and the name of the API server', async () => {
    const { text, id, expiresMs } = await tokens.create({ node: 'edge-1', uses: 2, lifeMs: 3_600_000 })
    expect(readJoinToken(text).caSha256).toBe(caSha256(cluster.authority().signing.certificate))
    const { apiServerName } = cluster.kubernetes()
    const wanted = { id, node: 'edge-1', uses: 2, apiServerName, expiresAtMs: Math.floor(expiresMs / 1000) * 1000 }
    await expect(cluster.tokens.verify(jwtOf(text))).resolves.toMatchObject(wanted)
    await expect((await openAnother()).tokens.verify(jwtOf(text))).resolves.toMatchObject(wanted)
  })

  it('never needs the CA: only the two objects made for it', async () => {
    const transport = new UnreliableTransport(server.connection, () => 'pass')
    await new TokenAdministration({ client: server.client(transport), namespace, clock }).create({})
    expect(transport.asked.map((line) => line.replace(`/api/v1/namespaces/${namespace}`, ''))).toEqual([
      'GET /configmaps/causeway-cluster',
      'GET /secrets/causeway-token-keys',
      'POST /configmaps',
    ])
  })

  it('is not to be had before a hub has run', async () => {
    await admin.resource(namespaces).create({ metadata: { name: `${namespace}-empty` } })
    const nowhere = new TokenAdministration({ client: admin, namespace: `${namespace}-empty`, clock })
    await expect(nowhere.create({})).rejects.toThrow(/no hub has run in this cluster/)
    const forbidden = new TokenAdministration({ client: server.clientOf('nobody'), namespace, clock })
    await expect(forbidden.create({})).rejects.toThrow(/cannot create a join token: configmaps .* is forbidden/)
  })

  it.each([
    [{ node: 'Edge_1' }, /is not a node name/],
    [{ node: '' }, /must not be empty/],
    [{ node: 'edge-*!' }, /no node name can match/],
    [{ node: '..*' }, /no node name can match/],
    [{ uses: 0 }, /1 to 1000 uses/],
    [{ uses: 1.5 }, /1 to 1000 uses/],
    [{ uses: MAX_TOKEN_USES + 1 }, /1 to 1000 uses/],
    [{ lifeMs: 0 }, /1 second to 30 days/],
    [{ lifeMs: Number.NaN }, /1 second to 30 days/],
    [{ lifeMs: TOKEN_KEY_LIFE_MS + 1 }, /1 second to 30 days/],
  ])('is refused with %j, and leaves no record', async (wish, problem) => {
    await expect(tokens.create(wish)).rejects.toThrow(problem)
    expect((await tokens.list()).records).toEqual([])
  })

  it('is listed without the token itself, oldest first', async () => {
    const first = await tokens.create({ node: 'edge-*' })
    await clock.advance(1000)
    const second = await tokens.create({ uses: 1 })
    const { records, damaged } = await tokens.list()
    expect(damaged).toEqual([])
    expect(records).toMatchObject([
      { id: first.id, node: 'edge-*', used: [] },
      { id: second.id, uses: 1, used: [] },
    ])
    const everything = JSON.stringify(await admin.resource(configMaps).in(namespace).list())
    for (const { text } of [first, second]) expect(everything).not.toContain(text.split('.').at(-1))
  })
})

describe('a token that counts no more', () => {
  it('was revoked: at once, on every hub', async () => {
    const other = await openAnother()
    const { text, id } = await tokens.create({ uses: 5 })
    const claims = await other.tokens.verify(jwtOf(text))
    await expect(tokens.revoke(id)).resolves.toBe('revoked')
    await expect(tokens.revoke(id)).resolves.toBe('revoked-before')
    await expect(tokens.revoke('0123')).resolves.toBe('unknown')
    expect(await codeOf(cluster.tokens.verify(jwtOf(text)))).toBe('token-revoked')
    expect(await codeOf(other.tokens.verify(jwtOf(text)))).toBe('token-revoked')
    // Verified before it was revoked, used after.
    expect(await codeOf(other.tokens.use(claims, 'edge-1', keyA))).toBe('token-revoked')
    expect((await tokens.list()).records).toMatchObject([{ id, revokedMs: clock.nowMs() }])
  })

  it('has lost its record, or never had one', async () => {
    const { text, id } = await tokens.create({})
    await admin.resource(configMaps).in(namespace).delete(tokenRecordName(id))
    expect(await codeOf(cluster.tokens.verify(jwtOf(text)))).toBe('token-revoked')
  })

  it('has expired', async () => {
    const { text } = await tokens.create({ lifeMs: 60_000 })
    expect(await codeOf(cluster.tokens.verify(jwtOf(text)))).toBe('allowed')
    await clock.advance(60_000 + JOIN_TOKEN_CLOCK_TOLERANCE_MS)
    expect(await codeOf(cluster.tokens.verify(jwtOf(text)))).toBe('token-expired')
  })

  it('is of another cluster', async () => {
    const foreign = await openCluster({
      client: admin,
      namespace: `${namespace}-other`,
      clock,
      logger,
      addresses: ['hub.example'],
      certificateUseMs: dayMs,
    })
    const { text } = await tokens.create({})
    expect(await codeOf(foreign.tokens.verify(jwtOf(text)))).toBe('token-invalid')
  })

  it('is from the future, or no token at all', async () => {
    const { text } = await tokens.create({})
    clock.jumpTo(clock.nowMs() - 3_600_000)
    expect(await codeOf(cluster.tokens.verify(jwtOf(text)))).toBe('token-invalid')
    for (const jwt of ['', 'a.b.c', text]) expect(await codeOf(cluster.tokens.verify(jwt))).toBe('token-invalid')
  })

  it('has an id that would lead to another object', async () => {
    const [head = '', body = ''] = jwtOf((await tokens.create({})).text).split('.')
    const payload = JSON.parse(Buffer.from(body, 'base64url').toString()) as object
    const forged = Buffer.from(JSON.stringify({ ...payload, jti: '../secrets/causeway-ca' })).toString('base64url')
    const { secret } = await new TokenKeys(options()).signingKey()
    const signature = createHmac('sha256', secret).update(`${head}.${forged}`).digest('base64url')
    expect(await codeOf(cluster.tokens.verify(`${head}.${forged}.${signature}`))).toBe('token-invalid')
  })

  it('has a damaged record, which is named', async () => {
    const { text, id } = await tokens.create({})
    const maps = admin.resource(configMaps).in(namespace)
    const object = await maps.get(tokenRecordName(id))
    for (const data of [{ used: '{}' }, { used: '[7]' }, { used: '' }, { expires: '' }, { uses: 'x' }, { id: 'ff' }]) {
      const present = await maps.get(tokenRecordName(id))
      await maps.update({ ...present, data: { ...object.data, ...data } })
      expect(await codeOf(cluster.tokens.verify(jwtOf(text)))).toBe('internal')
      expect((await tokens.list()).damaged).toMatchObject([{ name: tokenRecordName(id) }])
    }
  })

  it('cannot be asked about while the cluster is away', async () => {
    const { text } = await tokens.create({ uses: 1 })
    const claims = await cluster.tokens.verify(jwtOf(text))
    let isDown = false
    const transport = new UnreliableTransport(server.connection, () => (isDown ? 'lost-request' : 'pass'))
    const other = await openAnother(server.client(transport))
    isDown = true
    expect(await codeOf(other.tokens.verify(jwtOf(text)))).toBe('cluster-unavailable')
    expect(await codeOf(other.tokens.use(claims, 'edge-1', keyA))).toBe('cluster-unavailable')
  })
})

describe('a token with a number of uses', () => {
  async function limited(uses: number): Promise<JoinClaims> {
    return await cluster.tokens.verify(jwtOf((await tokens.create({ uses })).text))
  }

  it('counts each node and key once', async () => {
    const claims = await limited(2)
    expect(await codeOf(cluster.tokens.use(claims, 'edge-1', keyA))).toBe('allowed')
    expect(await codeOf(cluster.tokens.use(claims, 'edge-1', keyA))).toBe('allowed')
    expect(await codeOf(cluster.tokens.use(claims, 'edge-1', keyB))).toBe('allowed')
    expect(await codeOf(cluster.tokens.use(claims, 'edge-2', keyA))).toBe('token-used-up')
    expect(await codeOf(cluster.tokens.use(claims, 'edge-1', keyA))).toBe('allowed')
    const used = [
      { node: 'edge-1', key: keyA },
      { node: 'edge-1', key: keyB },
    ]
    expect((await tokens.list()).records).toMatchObject([{ used }])
  })

  it('is never used more often, however many ask at once on however many hubs', async () => {
    const claims = await limited(7)
    // Real time: who loses a race waits a moment.
    const hubs = Array.from({ length: 4 }, () => {
      const own = { client: server.client(), namespace, clock: systemClock, random: systemRandom }
      const keys = new TokenKeys(own)
      return new SharedJoinTokens({ clock: systemClock, keys, records: new TokenRecords(own), audience: () => '' })
    })
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        codeOf((hubs[index % 4] as SharedJoinTokens).use(claims, `edge-${index}`, keyA)),
      ),
    )
    expect(results.filter((result) => result === 'allowed')).toHaveLength(7)
    expect(results.filter((result) => result === 'token-used-up')).toHaveLength(33)
    expect((await tokens.list()).records[0]?.used).toHaveLength(7)
  })

  it.each([0, 1])('does not count a use twice that broke off at request %i', async (lost) => {
    const claims = await limited(1)
    const transport = new UnreliableTransport(server.connection, (index) => (index === lost ? 'lost-answer' : 'pass'))
    const own = options(server.client(transport))
    const records = new TokenRecords(own)
    const other = new SharedJoinTokens({ clock, keys: new TokenKeys(own), records, audience: () => '' })
    expect(await codeOf(other.use(claims, 'edge-1', keyA))).toBe('cluster-unavailable')
    expect(await codeOf(other.use(claims, 'edge-1', keyA))).toBe('allowed')
    expect((await tokens.list()).records[0]?.used).toEqual([{ node: 'edge-1', key: keyA }])
  })

  it('without one is not written for each join', async () => {
    const { text, id } = await tokens.create({})
    const claims = await cluster.tokens.verify(jwtOf(text))
    await cluster.tokens.use(claims, 'edge-1', keyA)
    expect((await new TokenRecords(options()).get(id))?.used).toEqual([])
  })
})

describe('the keys of tokens', () => {
  const keyNames = async (): Promise<string[]> =>
    Object.keys((await admin.resource(secrets).in(namespace).get(TOKEN_KEYS_SECRET)).data ?? {}).toSorted()

  it('change every 30 days, and a token outlives the change but not the next', async () => {
    const keys = new TokenKeys(options())
    await keys.rotateIfDue()
    const [first] = (await keyNames()).filter((name) => name.startsWith('key.'))
    await clock.advance(TOKEN_KEY_LIFE_MS - 1)
    await keys.rotateIfDue()
    expect(await keyNames()).toHaveLength(3)
    const { text } = await tokens.create({ lifeMs: TOKEN_KEY_LIFE_MS })
    await clock.advance(1)
    await keys.rotateIfDue()
    expect(await keyNames()).toHaveLength(5)
    expect(await codeOf(cluster.tokens.verify(jwtOf(text)))).toBe('allowed')
    await clock.advance(TOKEN_KEY_LIFE_MS - 2)
    expect(await codeOf(cluster.tokens.verify(jwtOf(text)))).toBe('allowed')
    await clock.advance(2)
    await keys.rotateIfDue()
    expect(await keyNames()).toHaveLength(5)
    expect(await keyNames()).not.toContain(first)
  })

  it('that another hub brought in are found by themselves, without a read for each stranger', async () => {
    const transport = new UnreliableTransport(server.connection, () => 'pass')
    const other = await openAnother(server.client(transport))
    await clock.advance(TOKEN_KEY_LIFE_MS)
    await new TokenKeys(options()).rotateIfDue()
    const { text } = await tokens.create({})
    expect(await codeOf(other.tokens.verify(jwtOf(text)))).toBe('allowed')
    const before = transport.asked.length
    const stranger = text.replace(/\.[^.]*$/, `.${'A'.repeat(43)}`)
    for (let times = 0; times < 50; times++)
      expect(await codeOf(other.tokens.verify(jwtOf(stranger)))).toBe('token-invalid')
    expect(transport.asked.length).toBe(before)
    await clock.advance(MIN_KEY_REREAD_MS)
    await codeOf(other.tokens.verify(jwtOf(stranger)))
    expect(transport.asked.length).toBe(before + 1)
  })

  it('become one when five hubs rotate at once', async () => {
    await clock.advance(TOKEN_KEY_LIFE_MS)
    const now = clock.nowMs()
    const later = { ...systemClock, nowMs: () => now, monotonicMs: () => 0, sleep: () => Promise.resolve() }
    const hubs = Array.from({ length: 5 }, () => new TokenKeys({ ...options(server.client()), clock: later }))
    await Promise.all(hubs.map((keys) => keys.rotateIfDue()))
    expect(await keyNames()).toHaveLength(5)
    const ids = await Promise.all(hubs.map(async (keys) => (await keys.signingKey()).id))
    expect(new Set(ids).size).toBe(1)
  })
})

describe('the shared token', () => {
  function keeper(time: typeof systemClock = clock, client = server.client()): TokenKeeper {
    const own = { ...options(client), clock: time }
    const info = () => readClusterInfo(own)
    return new TokenKeeper({ ...own, keys: new TokenKeys(own), records: new TokenRecords(own), info })
  }

  it('is one when five hubs make it at once, with one record', async () => {
    const hubs = Array.from({ length: 5 }, () => keeper(systemClock))
    const made = await Promise.all(hubs.map((hub) => hub.refresh()))
    expect(made.filter(Boolean)).toHaveLength(1)
    const { data } = await admin.resource(secrets).in(namespace).get(JOIN_TOKEN_SECRET)
    const { claims } = readJoinToken(Buffer.from(data?.['token'] ?? '', 'base64').toString())
    expect((await tokens.list()).records.map(({ id }) => id)).toEqual([claims.id])
  })

  it('leaves one record, however often the Secret could not be written, or the answer was lost', async () => {
    for (const fate of ['lost-request', 'lost-answer'] as const) {
      let isDown = true
      const transport = new UnreliableTransport(server.connection, (_index, { method, path }) =>
        isDown && method !== 'GET' && path.endsWith('/secrets') ? fate : 'pass',
      )
      const hub = keeper(clock, server.client(transport))
      const before = (await tokens.list()).records.length
      await expect(hub.refresh()).rejects.toThrow()
      if (fate === 'lost-request') for (let times = 0; times < 5; times++) await expect(hub.refresh()).rejects.toThrow()
      isDown = false
      await expect(hub.refresh()).resolves.toBe(true)
      await expect(hub.refresh()).resolves.toBe(false)
      expect((await tokens.list()).records).toHaveLength(before + 1)
      await admin.resource(secrets).in(namespace).delete(JOIN_TOKEN_SECRET)
    }
  })

  it('leaves records behind that go a day after they expire', async () => {
    const records = new TokenRecords(options())
    await keeper().refresh()
    await clock.advance(dayMs / 2)
    await keeper().refresh()
    expect((await tokens.list()).records).toHaveLength(2)
    await clock.advance(dayMs / 2 + EXPIRED_RECORD_KEPT_MS - 1)
    await expect(records.removeExpired()).resolves.toBe(0)
    await clock.advance(1)
    await expect(records.removeExpired()).resolves.toBe(1)
    expect((await tokens.list()).records).toHaveLength(1)
  })
})

describe('forgetting a node', () => {
  it('revokes the tokens for exactly that node, used up or not, and no others', async () => {
    const [open, used, pattern, other, any] = await Promise.all(
      [{ node: 'edge-1' }, { node: 'edge-1', uses: 1 }, { node: 'edge-*' }, { node: 'edge-10' }, {}].map((wish) =>
        tokens.create(wish),
      ),
    )
    const usedJwt = jwtOf(used!.text)
    await cluster.tokens.use(await cluster.tokens.verify(usedJwt), 'edge-1', keyA)
    expect((await tokens.revokeFor('edge-1')).toSorted()).toEqual([open!.id, used!.id].toSorted())
    expect(await codeOf(cluster.tokens.verify(jwtOf(open!.text)))).toBe('token-revoked')
    expect(await codeOf(cluster.tokens.verify(usedJwt))).toBe('token-revoked')
    for (const { text } of [pattern!, other!, any!])
      expect(await codeOf(cluster.tokens.verify(jwtOf(text)))).toBe('allowed')
    expect(await tokens.revokeFor('edge-1')).toEqual([])
  })
})
