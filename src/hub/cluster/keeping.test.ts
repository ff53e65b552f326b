import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type OwnApiServer, startOwnApiServer, UnreliableTransport } from '../../../test/worlds/own-api-server.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { issueSelfSignedCa, validityFromNow } from '../../identity/issue.ts'
import { caSha256, readJoinToken } from '../../identity/join-token.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import type { CertificatePair } from '../../identity/pair-file.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { configMaps, secrets } from '../../kube/client/kinds.ts'
import { isNotFound } from '../../kube/status/predicates.ts'
import type { RunningPart } from '../../process/lifecycle.ts'
import { ManualClock, systemClock } from '../../runtime/clock.ts'
import { CA_SECRET, CLUSTER_CONFIG_MAP, JOIN_TOKEN_SECRET } from '../shared/names.ts'
import { CLUSTER_CHECK_MS, type OpenCluster, openCluster } from './open-cluster.ts'
import { SERVER_CERTIFICATE_LIFE_MS } from './server-certificate.ts'

const logger = pino({ level: 'silent' })
const dayMs = 86_400_000

let server: OwnApiServer
let admin: KubeClient
let namespace: string
let clock: ManualClock
let count = 0
const running: RunningPart[] = []
beforeAll(async () => {
  server = await startOwnApiServer()
  admin = server.client()
})
afterAll(async () => {
  await server.stop()
})
beforeEach(() => {
  namespace = `keeping-${++count}`
  clock = new ManualClock(systemClock.nowMs())
})
afterEach(async () => {
  for (const part of running.splice(0).toReversed()) await part.stop(AbortSignal.abort())
})

/** Opens the cluster and starts the parts whose names end so. */
async function open(names: readonly string[], client = admin): Promise<OpenCluster> {
  const options = { client, namespace, clock, logger, addresses: ['hub.example'], certificateUseMs: dayMs }
  const cluster = await openCluster(options)
  for (const part of cluster.parts)
    if (names.some((name) => part.name.endsWith(`/${name}`)))
      running.push(await part.start(new AbortController().signal, () => undefined))
  return cluster
}

/** Asks until there is an answer; who never gives one lets the test time out. */
async function eventually<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
  }
}

async function fieldOf(name: string, field: string): Promise<string | undefined> {
  try {
    const { data } = await admin.resource(secrets).in(namespace).get(name)
    return Buffer.from(data?.[field] ?? '', 'base64').toString()
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

const joinToken = () => fieldOf(JOIN_TOKEN_SECRET, 'token')
const info = async () => (await admin.resource(configMaps).in(namespace).get(CLUSTER_CONFIG_MAP)).data ?? {}

function nextCertificate(cluster: OpenCluster): Promise<CertificatePair> {
  return new Promise((resolve) => cluster.onServerCertificate(resolve))
}

async function anotherToken(before: string | undefined): Promise<string> {
  return await eventually(async () => {
    const text = await joinToken()
    return text === before ? undefined : text
  })
}

/** Lets the periodic work run, which has begun to wait as soon as it has an appointment. */
async function pass(durationMs: number): Promise<void> {
  await eventually(async () => {
    await clock.advance(0)
    return clock.pending >= running.length ? true : undefined
  })
  await clock.advance(durationMs)
}

describe('while a hub runs', () => {
  it('its server certificate is issued again before it ends, without a restart', async () => {
    const cluster = await open(['server-certificate'])
    const before = cluster.serverCertificate()
    const changed = nextCertificate(cluster)
    await pass(SERVER_CERTIFICATE_LIFE_MS * 0.85)
    const after = await changed
    expect(after.chain[0].notAfterMs).toBeGreaterThan(before.chain[0].notAfterMs)
    expect(cluster.serverCertificate()).toBe(after)
  })

  it('a new CA in the cluster is taken over: it signs, the old one still counts, tokens lead to it', async () => {
    const cluster = await open(['ca'])
    const { certificate: old } = cluster.authority().signing
    const { privateKey } = await generateKeys()
    const life = validityFromNow(clock, 100 * dayMs)
    const { certificate } = await issueSelfSignedCa({ subject: userName('new CA'), ...life }, privateKey)
    const there = admin.resource(secrets).in(namespace)
    const { data: _data, ...secret } = await there.get(CA_SECRET)
    const stringData = {
      'tls.crt': certificatePem(certificate),
      'tls.key': privateKeyPem(privateKey),
      'previous.crt': certificatePem(old),
    }
    await there.update({ ...secret, stringData })
    const changed = nextCertificate(cluster)
    await pass(CLUSTER_CHECK_MS)
    expect((await changed).chain[0].issuerDer.equals(certificate.subjectDer)).toBe(true)
    const trusted = cluster.authority().trust.map(({ fingerprint }) => fingerprint)
    expect(trusted).toEqual([certificate.fingerprint, old.fingerprint])
    await eventually(async () => ((await info())['hub-ca.crt'] === certificatePem(certificate) ? true : undefined))
  })

  it('a CA that somebody removed or damaged is kept, and put back', async () => {
    const cluster = await open(['ca'])
    const before = await fieldOf(CA_SECRET, 'tls.key')
    const there = admin.resource(secrets).in(namespace)
    await there.update({ ...(await there.get(CA_SECRET)), data: { 'tls.crt': '', 'tls.key': '' } })
    const { fingerprint } = cluster.authority().signing.certificate
    await pass(CLUSTER_CHECK_MS)
    await there.delete(CA_SECRET)
    await pass(CLUSTER_CHECK_MS)
    expect(await eventually(() => fieldOf(CA_SECRET, 'tls.key'))).toBe(before)
    expect(cluster.authority().signing.certificate.fingerprint).toBe(fingerprint)
  })

  it('the facts about the cluster are put back under the same id', async () => {
    await open(['cluster-info'])
    const before = await info()
    await admin.resource(configMaps).in(namespace).delete(CLUSTER_CONFIG_MAP)
    await pass(CLUSTER_CHECK_MS)
    const after = await eventually(async () => await info().catch(() => undefined))
    expect(after).toEqual(before)
  })

  it('facts that another hub published are left alone', async () => {
    await open(['cluster-info'])
    const maps = admin.resource(configMaps).in(namespace)
    const object = await maps.get(CLUSTER_CONFIG_MAP)
    const written = await maps.update({ ...object, data: { ...object.data, apiServerName: 'other.example' } })
    await pass(CLUSTER_CHECK_MS)
    await pass(CLUSTER_CHECK_MS)
    await pass(0)
    expect((await maps.get(CLUSTER_CONFIG_MAP)).metadata?.resourceVersion).toBe(written.metadata?.resourceVersion)
  })
})

describe('the join token in the cluster', () => {
  it('is there, works, and is replaced at half of its life for ever', async () => {
    const cluster = await open(['join-token'])
    let text = await anotherToken(undefined)
    for (let half = 0; half < 5; half++) {
      const { jwt, claims, caSha256: hash } = readJoinToken(text)
      expect(hash).toBe(caSha256(cluster.authority().signing.certificate))
      expect(claims.expiresAtMs - claims.issuedAtMs).toBe(dayMs)
      await expect(cluster.tokens.verify(jwt)).resolves.toEqual(claims)
      await pass(dayMs / 2 - 2 * CLUSTER_CHECK_MS)
      expect(await joinToken()).toBe(text)
      await pass(3 * CLUSTER_CHECK_MS)
      text = await anotherToken(text)
    }
  })

  it('is replaced at once when it was revoked, damaged or removed', async () => {
    const cluster = await open(['join-token'])
    const first = await anotherToken(undefined)
    const maps = admin.resource(configMaps).in(namespace)
    await maps.delete(`causeway-token-${readJoinToken(first).claims.id}`)
    await pass(CLUSTER_CHECK_MS)
    const second = await anotherToken(first)
    const there = admin.resource(secrets).in(namespace)
    await there.update({ ...(await there.get(JOIN_TOKEN_SECRET)), data: {} })
    await pass(CLUSTER_CHECK_MS)
    const third = await eventually(async () => (await joinToken()) || undefined)
    await there.delete(JOIN_TOKEN_SECRET)
    await pass(CLUSTER_CHECK_MS)
    const fourth = await eventually(async () => (await joinToken()) || undefined)
    expect(new Set([first, second, third, fourth]).size).toBe(4)
    await expect(cluster.tokens.verify(readJoinToken(fourth).jwt)).resolves.toBeDefined()
  })

  it('is refreshed after any number of failed writes', async () => {
    let isDown = false
    const transport = new UnreliableTransport(server.connection, (_index, { method }) =>
      isDown && method !== 'GET' ? 'lost-request' : 'pass',
    )
    await open(['join-token'], server.client(transport))
    const first = await anotherToken(undefined)
    isDown = true
    for (let times = 0; times < 20; times++) await pass(dayMs / 10)
    expect(await joinToken()).toBe(first)
    isDown = false
    await pass(CLUSTER_CHECK_MS)
    expect(await anotherToken(first)).not.toBe(first)
  })
})
