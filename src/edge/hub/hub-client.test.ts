import { createServer, type Server } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DAY_MS, EdgeHub } from '../../../test/worlds/edge-hub.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { generateKeys, keyFingerprint, privateKeyPem } from '../../identity/keys.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import { listen } from '../../network/listen.ts'
import { ManualClock } from '../../runtime/clock.ts'
import {
  DEFAULT_PENDING_RETRY_MS,
  fetchUnverifiedCa,
  HubClient,
  type HubClientOptions,
  MAX_HUB_RETRY_AFTER_MS,
} from './hub-client.ts'
import { HubError } from './hub-error.ts'
import { HUB_ANSWER_TIMEOUT_MS, HUB_CONNECT_TIMEOUT_MS, MAX_HUB_ANSWER_BYTES } from './hub-exchange.ts'
import { parseHubUrls } from './hub-url.ts'

let clock: ManualClock
let hub: EdgeHub
const hubs: EdgeHub[] = []
const silent: Server[] = []

beforeEach(async () => {
  clock = new ManualClock()
  hub = await start()
})
afterEach(async () => {
  await Promise.all(hubs.splice(0).map((each) => each.stop()))
  for (const server of silent.splice(0)) server.close()
  expect(clock.pending).toBe(0)
})

async function start(options: Partial<Parameters<typeof EdgeHub.start>[0]> = {}): Promise<EdgeHub> {
  const started = await EdgeHub.start({ clock, ...options })
  hubs.push(started)
  return started
}

function client(urls: readonly string[] = [hub.url], options: Partial<HubClientOptions> = {}): HubClient {
  return new HubClient({ hubs: parseHubUrls(urls), clock, trust: () => [hub.authority.certificate], ...options })
}

async function errorOf(work: Promise<unknown>): Promise<HubError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(HubError)
  return error as HubError
}

/** Lets the hub begin answers that it never ends; resolves when the first request has arrived. */
function halfAnswers(): Promise<void> {
  return new Promise((resolve) => {
    hub.before = () => {
      resolve()
      return { status: 200, body: 'half', headers: { 'content-length': '100' } }
    }
  })
}

/** Accepts connections and says nothing. */
async function silence(): Promise<{ url: string; connected: Promise<void> }> {
  let connect = (): void => {}
  const connected = new Promise<void>((resolve) => {
    connect = resolve
  })
  const server = createServer((socket) => {
    socket.on('error', () => {})
    connect()
  })
  silent.push(server)
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 })
  return { url: `https://127.0.0.1:${port}`, connected }
}

describe('the peer', () => {
  it('must be signed by the pinned CA', async () => {
    const other = await start()
    const error = await errorOf(client([other.url]).kubernetesCa())
    expect(error).toMatchObject({ kind: 'tls', code: 'hub-untrusted', retryable: false })
    expect(other.log).toEqual([])
  })

  it('must speak for the host of the address', async () => {
    const other = await start({ names: { dnsNames: ['hub.example'] } })
    const trust = () => [other.authority.certificate]
    const error = await errorOf(client([other.url], { trust }).kubernetesCa())
    expect(error).toMatchObject({ code: 'hub-wrong-host' })
    expect(error.message).toContain('speaks for hub.example, not for 127.0.0.1')
  })

  it('may be known by any of its names', async () => {
    expect(await client([`https://localhost:${hub.port}`]).kubernetesCa()).toBe(hub.kubernetesCaPem)
  })

  it('must be in the middle of its life', async () => {
    clock.jumpTo(clock.nowMs() + 400 * DAY_MS)
    expect(await errorOf(client().kubernetesCa())).toMatchObject({ code: 'hub-expired' })
    clock.jumpTo(0)
    expect(await errorOf(client().kubernetesCa())).toMatchObject({ code: 'hub-not-yet-valid' })
  })

  it('must be meant for servers', async () => {
    const other = await start({ server: { extendedKeyUsages: ['clientAuth'] } })
    const trust = () => [other.authority.certificate]
    expect(await errorOf(client([other.url], { trust }).kubernetesCa())).toMatchObject({ code: 'tls' })
  })

  it('is anybody when only the CA is fetched', async () => {
    clock.jumpTo(0)
    expect(await fetchUnverifiedCa({ hubs: parseHubUrls([hub.url]), clock })).toEqual({ pem: hub.caPem, hubTimeMs: 0 })
  })

  it('gets to see our certificate where we have one, and never beside a token', async () => {
    const { publicKey, privateKey } = await generateKeys()
    const template = { subject: nodeSubject('edge-1'), extendedKeyUsages: ['clientAuth'] as const }
    const certificate = await issueCertificate(
      hub.authority,
      { ...template, ...validityFromNow(clock, DAY_MS) },
      publicKey,
    )
    const pair = { certificatePem: certificatePem(certificate), keyPem: privateKeyPem(privateKey) }
    const holder = client([hub.url], { pair: () => pair })
    expect(await holder.checkIn()).toMatchObject({ node: 'edge-1', key: keyFingerprint(publicKey) })
    const seen: unknown[] = []
    hub.before = ({ peer, headers }) => void seen.push([peer?.certificate.fingerprint, headers.authorization])
    await errorOf(holder.join('csr', 'jwt'))
    expect(seen).toEqual([[undefined, 'Bearer jwt']])
  })
})

describe('answers', () => {
  it('that refuse keep the code, the sentence, the details and the clock of the hub', async () => {
    hub.before = () => ({ status: 409, body: '{"code":"name-taken","message":"taken","node":"edge-1"}' })
    const error = await errorOf(client().kubernetesCa())
    expect(error).toMatchObject({ kind: 'refusal', code: 'name-taken', message: 'taken', retryable: false })
    expect(error.details).toEqual({ node: 'edge-1' })
    expect(error.hubTimeMs).toBe(clock.nowMs())
  })

  it.each([
    [429, '7', 7_000],
    [503, '999999', MAX_HUB_RETRY_AFTER_MS],
    [500, 'soon', undefined],
    [408, '-1', undefined],
  ])('with %s may be repeated, after %s', async (status, retryAfter, retryAfterMs) => {
    hub.before = () => ({ status, body: '{"code":"x","message":"y"}', headers: { 'retry-after': retryAfter } })
    expect(await errorOf(client().kubernetesCa())).toMatchObject({ code: 'x', retryable: true, retryAfterMs })
  })

  it('that are no refusal of a hub say so', async () => {
    hub.before = () => ({ status: 302, body: '', headers: { location: 'https://login.example' } })
    expect(await errorOf(client().kubernetesCa())).toMatchObject({
      kind: 'refusal',
      code: 'http-302',
      retryable: false,
    })
  })

  it('in an unknown form are not believed', async () => {
    hub.before = () => ({ status: 200, body: '{"node":1}' })
    expect(await errorOf(client().checkIn())).toMatchObject({ code: 'protocol' })
  })

  it('have a largest size', async () => {
    hub.before = () => ({ status: 200, body: 'x'.repeat(MAX_HUB_ANSWER_BYTES) })
    expect(await client().kubernetesCa()).toHaveLength(MAX_HUB_ANSWER_BYTES)
    hub.before = () => ({ status: 200, body: 'x'.repeat(MAX_HUB_ANSWER_BYTES + 1) })
    expect(await errorOf(client().kubernetesCa())).toMatchObject({ code: 'answer-too-large' })
  })

  it('that break off are failures', async () => {
    const arrived = halfAnswers()
    const cut = errorOf(client().kubernetesCa())
    await arrived
    await hub.stop()
    expect(await cut).toMatchObject({ kind: 'network', code: 'reset', retryable: true })
  })
})

describe('time', () => {
  it('to connect is limited', async () => {
    const { url, connected } = await silence()
    const error = errorOf(client([url]).kubernetesCa())
    await connected
    await clock.advance(HUB_CONNECT_TIMEOUT_MS)
    expect(await error).toMatchObject({ kind: 'network', code: 'timeout', retryable: true })
  })

  it('to answer is limited', async () => {
    const arrived = halfAnswers()
    const error = errorOf(client().kubernetesCa())
    await arrived
    await clock.advance(HUB_ANSWER_TIMEOUT_MS)
    expect(await error).toMatchObject({ code: 'timeout' })
  })

  it('ends when the caller gives up, with the reason of the caller', async () => {
    const { url, connected } = await silence()
    const caller = new AbortController()
    const asked = client([url, hub.url]).kubernetesCa(caller.signal)
    await connected
    caller.abort(new Error('stopping'))
    await expect(asked).rejects.toThrow('stopping')
    expect(hub.log).toEqual([])
    await expect(client().kubernetesCa(caller.signal)).rejects.toThrow('stopping')
  })
})

describe('several hubs', () => {
  const busy = () => ({ status: 503, body: '{"code":"overloaded","message":"later"}' })

  it('are tried in turn, beginning with the one that answered last', async () => {
    const busyHub = await start()
    busyHub.before = busy
    const trust = () => hubs.map(({ authority }) => authority.certificate)
    const both = client([busyHub.url, hub.url], { trust })
    await both.kubernetesCa()
    await both.kubernetesCa()
    expect([busyHub.log.length, hub.log.length]).toEqual([1, 2])
  })

  it('are not tried after one of them decided', async () => {
    const strict = await start()
    strict.before = () => ({ status: 403, body: '{"code":"token-used-up","message":"used up"}' })
    const trust = () => hubs.map(({ authority }) => authority.certificate)
    expect(await errorOf(client([strict.url, hub.url], { trust }).kubernetesCa())).toMatchObject({
      code: 'token-used-up',
    })
    expect(hub.log).toEqual([])
  })

  it('that all fail are all named, and the one that knows most gives the code', async () => {
    const stranger = await start()
    hub.before = busy
    const error = await errorOf(client([stranger.url, hub.url]).kubernetesCa())
    expect(error).toMatchObject({ kind: 'refusal', code: 'overloaded', retryable: true })
    expect(error.message).toMatch(
      /^none of 2 hubs could be used: https:.* no CA that is trusted here .*; https:\S+: later$/,
    )
  })
})

describe('a Kubernetes certificate', () => {
  it('is asked for until it is issued', async () => {
    let pending = 2
    hub.before = ({ path, method }) => {
      if (`${method} ${path}` !== 'POST /v1/certificates/serving') return undefined
      if (pending-- === 0) return { status: 200, body: 'the certificate' }
      const headers: Record<string, string> = pending === 1 ? { 'retry-after': '5' } : {}
      return { status: 202, body: '{"code":"pending","message":"wait"}', headers }
    }
    const sleeps: number[] = []
    clock.sleep = async (delayMs) => void sleeps.push(delayMs)
    expect(await client().kubernetesCertificate('serving', 'csr')).toBe('the certificate')
    expect(sleeps).toEqual([5_000, DEFAULT_PENDING_RETRY_MS])
  })

  it('has a content that the hub decides', async () => {
    const content = {
      subject: { commonName: 'system:node:edge-1', organizations: ['system:nodes'] },
      dnsNames: ['kubernetes'],
      ipAddresses: ['127.0.0.1'],
      expirationSeconds: 3600,
    }
    hub.before = ({ path }) =>
      path === '/v1/certificates/client' ? { status: 200, body: JSON.stringify(content) } : undefined
    expect(await client().certificateContent('client')).toEqual(content)
  })
})

describe('a token for kube-proxy', () => {
  it('is asked for with the certificate of the node, and read with its end', async () => {
    const issued = { token: 'a.b.c', expires: '2026-01-02T00:00:00Z' }
    hub.before = ({ method, path }) =>
      `${method} ${path}` === 'POST /v1/tokens/kube-proxy' ? { status: 200, body: JSON.stringify(issued) } : undefined
    expect(await client().kubeProxyToken()).toEqual(issued)
    hub.before = () => ({ status: 200, body: '{"token":"","expires":"soon"}' })
    expect(await errorOf(client().kubeProxyToken())).toMatchObject({ code: 'protocol' })
  })

  it('about groups of the API brings a list that is not too long', async () => {
    let local: unknown = ['apps/v1', 'v1']
    hub.before = ({ method, path }) =>
      `${method} ${path}` === 'GET /v1/api-groups' ? { status: 200, body: JSON.stringify({ local }) } : undefined
    expect(await client().localGroupVersions()).toEqual(local)
    for (const bad of [undefined, 'v1', [1], ['v'.repeat(318)], Array(2_049).fill('v1')]) {
      local = bad
      expect(await errorOf(client().localGroupVersions())).toMatchObject({ code: 'protocol' })
    }
  })
})
