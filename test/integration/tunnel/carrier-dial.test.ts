/** How an edge finds the carrier that gets through, and what it says when none does. */
import { createServer, type Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { listen } from '../../../src/network/listen.ts'
import { ManualClock, systemClock } from '../../../src/runtime/clock.ts'
import { CarrierMemory } from '../../../src/tunnel/carriers/carrier-memory.ts'
import { DialError } from '../../../src/tunnel/carriers/dial-error.ts'
import { type DialHubOptions, type DialledCarrier, dialHub } from '../../../src/tunnel/carriers/dial-hub.ts'
import { parseProxySettings } from '../../../src/tunnel/carriers/proxy-settings.ts'
import { DIAL_STEP_TIMEOUT_MS } from '../../../src/tunnel/carriers/tcp-path.ts'
import { type ConnectProxyOptions, startConnectProxy, startTlsOpeningProxy } from '../../worlds/carrier-middlemen.ts'
import { CarrierHub, type HubMood, issuePems, pinned } from '../../worlds/carrier-world.ts'
import { makeCa } from '../../worlds/edge-hub.ts'

const running: { stop(): Promise<void> }[] = []
const dialled: DialledCarrier[] = []
afterEach(async () => {
  for (const { carrier } of dialled.splice(0)) carrier.destroy()
  await Promise.all(running.splice(0).map((each) => each.stop()))
})

function run<T extends { stop(): Promise<void> }>(started: T): T {
  running.push(started)
  return started
}

async function startHub(mood: HubMood = {}, names?: readonly string[]): Promise<CarrierHub> {
  return run(await CarrierHub.start(mood, names))
}

async function startProxy(options: ConnectProxyOptions) {
  const middleman = run(await startConnectProxy(options))
  const scheme = options.tls === undefined ? 'http' : 'https'
  const through = (user = '') => parseProxySettings({ HTTPS_PROXY: `${scheme}://${user}127.0.0.1:${middleman.port}` })
  return { ...middleman, through }
}

async function startTlsOpener(hub: CarrierHub, names = ['127.0.0.1']) {
  const { ca: outerCa, ...tls } = await issuePems(await makeCa(systemClock, 'public'), 'serverAuth', names)
  return { ...run(await startTlsOpeningProxy(hub.port, tls)), outerCa }
}

async function dial(options: Omit<DialHubOptions, 'carriers'> & Partial<DialHubOptions>): Promise<DialledCarrier> {
  const result = await dialHub({ carriers: 'auto', ...options })
  dialled.push(result)
  return result
}

async function failure(work: Promise<unknown>): Promise<DialError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(DialError)
  return error as DialError
}

describe('a hub that can be reached', () => {
  it('is reached by straight TLS, with the certificate of the edge', async () => {
    const hub = await startHub()
    const result = await dial(hub.options())
    expect(result).toMatchObject({ kind: 'tls', via: undefined, localAddress: '127.0.0.1', attempts: [] })
    expect(result.carrier.description).toBe(`tls 127.0.0.1:${hub.port}`)
    expect(result.hubCertificate).toMatchObject({ commonName: 'hub', issuer: 'causeway' })
    expect((await hub.accepted()).peer).toBe('system:node:edge-1')
  })

  it('is reached by WebSocket where that is wanted, with the certificate of the edge', async () => {
    const hub = await startHub()
    expect(await dial({ ...hub.options(), carriers: 'websocket' })).toMatchObject({ kind: 'websocket', attempts: [] })
    expect((await hub.accepted()).peer).toBe('system:node:edge-1')
    expect(hub.log).toEqual(['/v1/tunnel causeway.v1'])
  })

  it('is asked for by the name that is given', async () => {
    const hub = await startHub({}, ['other.example'])
    const options = {
      ...hub.options(),
      serverName: 'other.example',
      verifyPeer: pinned(hub.authority, 'other.example'),
    }
    expect(await dial(options)).toMatchObject({ kind: 'tls' })
  })
})

describe('falling back to a WebSocket', () => {
  it.each<[string, HubMood, string]>([
    ['the hub refuses the protocol', { protocols: ['http/1.1'] }, 'alpn'],
    ['the hub ignores protocols', { protocols: [] }, 'alpn'],
    ['the handshake is cut', { cuts: 'causeway/1' }, 'tls'],
  ])('happens where %s', async (_, mood, code) => {
    const hub = await startHub(mood)
    const result = await dial(hub.options())
    expect(result.kind).toBe('websocket')
    expect(result.attempts).toMatchObject([{ kind: 'tls', error: { code, phase: 'handshake' } }])
  })

  it('happens where the handshake is swallowed', async () => {
    const hub = await startHub({ swallows: 'causeway/1' })
    const clock = new ManualClock()
    const dialling = dial({ ...hub.options(), clock })
    await hub.silence
    await clock.advance(DIAL_STEP_TIMEOUT_MS)
    const result = await dialling
    expect(clock.pending).toBe(0)
    expect(result.kind).toBe('websocket')
    expect(result.attempts).toMatchObject([{ kind: 'tls', error: { code: 'timeout', phase: 'handshake' } }])
  })

  it('does not happen where only TLS is wanted', async () => {
    const hub = await startHub({ cuts: 'causeway/1' })
    expect(await failure(dial({ ...hub.options(), carriers: 'tls' }))).toMatchObject({ code: 'tls' })
    expect(hub.log).toEqual([])
  })

  it('does not happen where the certificate is that of a stranger', async () => {
    const [hub, other] = await Promise.all([startHub(), startHub()])
    const error = await failure(dial({ ...hub.options(), verifyPeer: pinned(other.authority, '127.0.0.1') }))
    expect(error).toMatchObject({ code: 'intercepted', phase: 'handshake', earlier: [] })
    expect(error.message).toContain('use --inner-tls')
    expect(hub.log.filter((line) => line !== 'causeway/1')).toEqual([])
  })

  it('checks the certificate as strictly as before', async () => {
    const [hub, other] = await Promise.all([startHub({ protocols: ['http/1.1'] }), startHub()])
    const error = await failure(dial({ ...hub.options(), verifyPeer: pinned(other.authority, '127.0.0.1') }))
    expect(error).toMatchObject({ code: 'intercepted', earlier: [{ kind: 'tls', error: { code: 'alpn' } }] })
    expect(error.message).toContain('tls failed before that')
    expect(hub.log).toEqual([])
  })

  it('does not happen where the certificate is for another host', async () => {
    const hub = await startHub({}, ['hub.example'])
    const error = await failure(dial(hub.options()))
    expect(error).toMatchObject({ code: 'certificate', earlier: [] })
    expect(error.message).toContain('hub.example')
  })

  it('does not happen where nothing listens', async () => {
    const hub = await startHub()
    // A port that no system gives away by itself, unlike one that was free a moment ago.
    const error = await failure(dial(hub.options('127.0.0.1', 1)))
    expect(error).toMatchObject({ code: 'refused', phase: 'connect', earlier: [] })
  })

  it('is remembered for a while, then straight TLS gets another chance', async () => {
    const clock = new ManualClock()
    const hub = await startHub({ cuts: 'causeway/1' })
    const memory = new CarrierMemory(clock)
    const tried = async () => (await dial({ ...hub.options(), memory })).attempts.map(({ kind }) => kind)
    expect([await tried(), await tried()]).toEqual([['tls'], []])
    await clock.advance(600_000)
    expect(await tried()).toEqual(['tls'])
  })

  it('goes back to TLS where a remembered WebSocket does not get through any more', async () => {
    const hub = await startHub({ answer: 'HTTP/1.1 403 No\r\nconnection: close\r\n\r\nno WebSockets here' })
    const memory = new CarrierMemory(systemClock)
    memory.worked(hub.options().url, 'websocket')
    const result = await dial({ ...hub.options(), memory })
    expect(result).toMatchObject({ kind: 'tls', attempts: [{ kind: 'websocket', error: { code: 'upgrade' } }] })
    expect((await dial({ ...hub.options(), memory })).attempts).toEqual([])
  })
})

describe('a hub that refuses the WebSocket', () => {
  const refusing = (body: string, more = ''): HubMood => ({
    answer: `HTTP/1.1 403 Forbidden\r\n${more}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  })

  it('is heard', async () => {
    const hub = await startHub(refusing('{"code":"certificate-revoked","message":"gone"}', 'retry-after: 7\r\n'))
    const error = await failure(dial({ ...hub.options(), carriers: 'websocket' }))
    const refusal = { status: 403, code: 'certificate-revoked', message: 'gone', retryAfterSeconds: 7 }
    expect(error).toMatchObject({ code: 'upgrade', phase: 'upgrade' })
    expect(error.refusal).toEqual(refusal)
    expect(error.message).toContain('gone (certificate-revoked)')
  })

  it.each(['<html>', 'null', '{"code":1,"message":"x"}', 'x'.repeat(100_000)])(
    'in words that are no refusal is not taken for a hub (%#)',
    async (body) => {
      const hub = await startHub(refusing(body))
      const error = await failure(dial({ ...hub.options(), carriers: 'websocket' }))
      expect(error).toMatchObject({ code: 'upgrade', refusal: undefined })
      expect(error.message).toContain('403')
    },
  )

  it('is not believed around inner TLS, where anybody on the way could say it', async () => {
    const hub = await startHub(refusing('{"code":"certificate-revoked","message":"gone"}'))
    const error = await failure(dial({ ...hub.options(), innerTls: { outerCa: hub.edge.ca } }))
    expect(error).toMatchObject({ code: 'upgrade', refusal: { code: 'certificate-revoked', isUnproven: true } })
  })

  it('because it saw no certificate means that somebody opens TLS', async () => {
    const hub = await startHub(refusing('{"code":"certificate-missing","message":"this needs a certificate"}'))
    const error = await failure(dial({ ...hub.options(), carriers: 'websocket' }))
    expect(error).toMatchObject({ code: 'intercepted', refusal: { code: 'certificate-missing' } })
    expect(error.message).toContain('--inner-tls')
  })

  it('by silence does not hold up for ever', async () => {
    const hub = await startHub({ isMute: true })
    const clock = new ManualClock()
    const error = failure(dial({ ...hub.options(), clock, carriers: 'websocket', timeouts: { upgradeMs: 100 } }))
    await hub.silence
    await clock.advance(100)
    expect(await error).toMatchObject({ code: 'timeout', phase: 'upgrade' })
    expect(clock.pending).toBe(0)
  })
})

describe('a proxy', () => {
  it('leads to the hub, by the name in the address', async () => {
    const hub = await startHub()
    const { through, log, port } = await startProxy({ toPort: hub.port })
    const result = await dial({ ...hub.options('hub.example', 10_000), proxy: through() })
    expect(result).toMatchObject({ kind: 'tls', via: `127.0.0.1:${port}` })
    expect(log).toEqual(['CONNECT hub.example:10000'])
  })

  it('gets the user and the password', async () => {
    const hub = await startHub()
    const authorization = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
    const { through } = await startProxy({ toPort: hub.port, authorization })
    expect(await dial({ ...hub.options('hub.example'), proxy: through('me:p%40ss@') })).toMatchObject({ kind: 'tls' })
    const error = await failure(dial({ ...hub.options('hub.example'), proxy: through('me:wrong@') }))
    expect(error).toMatchObject({ code: 'proxy', phase: 'proxy', earlier: [] })
    expect(error.message).toContain('HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT')
    expect(error.message).not.toContain('wrong')
  })

  it.each([
    [403, 'its rules must allow CONNECT'],
    [502, 'it may not reach the hub itself'],
  ])('that answers %s says what is wrong', async (status, advice) => {
    const hub = await startHub()
    const { through } = await startProxy({ toPort: hub.port, status })
    const error = await failure(dial({ ...hub.options('hub.example'), proxy: through() }))
    expect(error).toMatchObject({ code: 'proxy', phase: 'proxy' })
    expect(error.message).toContain(advice)
  })

  it('over TLS must be trusted', async () => {
    const hub = await startHub()
    const { ca: _unknown, ...tls } = await issuePems(await makeCa(systemClock), 'serverAuth', ['127.0.0.1'])
    const { through } = await startProxy({ toPort: hub.port, tls })
    const error = await failure(dial({ ...hub.options('hub.example'), proxy: through() }))
    expect(error).toMatchObject({ code: 'proxy', phase: 'proxy' })
    expect(error.message).toContain('is not trusted here')
  })

  it('that is none is told as such', async () => {
    const { port, server } = await listening()
    server.on('connection', (socket) => socket.end('SSH-2.0-hello\r\n'))
    const hub = await startHub()
    const proxy = parseProxySettings({ HTTPS_PROXY: `127.0.0.1:${port}` })
    const error = await failure(dial({ ...hub.options('hub.example'), proxy }))
    expect(error).toMatchObject({ code: 'proxy' })
    expect(error.message).toContain('is not an HTTP proxy')
  })
})

describe('inner TLS', () => {
  it('shows the hub the certificate of the edge through a proxy that opens TLS', async () => {
    const hub = await startHub()
    const { port, outerCa, log } = await startTlsOpener(hub)
    const result = await dial({ ...hub.options('127.0.0.1', port), innerTls: { outerCa } })
    expect(result.kind).toBe('websocket+inner-tls')
    expect(result.hubCertificate).toMatchObject({ issuer: 'causeway' })
    expect((await hub.accepted()).peer).toBe('system:node:edge-1')
    expect([log, hub.log]).toEqual([['GET /v1/tunnel'], ['/v1/tunnel causeway.v1.inner-tls']])
  })

  it('also works where nobody opens TLS', async () => {
    const hub = await startHub()
    const outerCa = hub.edge.ca
    expect(await dial({ ...hub.options(), innerTls: { outerCa } })).toMatchObject({ kind: 'websocket+inner-tls' })
  })

  it('is what the error asks for where it is needed', async () => {
    const hub = await startHub()
    const { port, log } = await startTlsOpener(hub)
    const error = await failure(dial(hub.options('127.0.0.1', port)))
    expect(error).toMatchObject({ code: 'intercepted' })
    expect(error.message).toContain('use --inner-tls')
    expect(log).toEqual([])
  })

  it('does not believe an outer certificate that nobody trusts', async () => {
    const hub = await startHub()
    const { port } = await startTlsOpener(hub)
    const error = await failure(dial({ ...hub.options('127.0.0.1', port), innerTls: {} }))
    expect(error).toMatchObject({ code: 'certificate', phase: 'handshake' })
    expect(error.message).toContain('--outer-ca')
    expect(hub.log).toEqual([])
  })

  it('does not believe an outer certificate for another host', async () => {
    const hub = await startHub()
    const { port, outerCa } = await startTlsOpener(hub, ['elsewhere.example'])
    const error = await failure(dial({ ...hub.options('127.0.0.1', port), innerTls: { outerCa } }))
    expect(error).toMatchObject({ code: 'certificate' })
    expect(error.message).toContain('ALTNAME')
  })

  it('checks the inner certificate by the pinned CA and nothing else', async () => {
    const [hub, other] = await Promise.all([startHub(), startHub()])
    const { port, outerCa } = await startTlsOpener(hub)
    const verifyPeer = pinned(other.authority, '127.0.0.1')
    const error = await failure(dial({ ...hub.options('127.0.0.1', port), verifyPeer, innerTls: { outerCa } }))
    expect(error).toMatchObject({ code: 'intercepted' })
  })

  it.each(['politely', 'abruptly'] as const)('fails at once where the hub ends the WebSocket %s', async (manner) => {
    const hub = await startHub({ leavesInnerTls: manner })
    const error = await failure(
      dial({ ...hub.options(), clock: new ManualClock(), innerTls: { outerCa: hub.edge.ca } }),
    )
    expect(error).toMatchObject({ code: 'tls', phase: 'handshake' })
  })

  it('cannot go together with TLS alone', async () => {
    const hub = await startHub()
    await expect(dialHub({ ...hub.options(), carriers: 'tls', innerTls: {} })).rejects.toThrow(
      'WebSockets are switched off',
    )
  })
})

describe('time', () => {
  it('is limited for the handshake, whatever comes first', async () => {
    const clock = new ManualClock()
    const { port, server } = await listening()
    const connected = new Promise((resolve) => server.once('connection', resolve))
    const hub = await startHub()
    const error = failure(dial({ ...hub.options('127.0.0.1', port), clock, carriers: 'tls' }))
    await connected
    await clock.advance(DIAL_STEP_TIMEOUT_MS)
    expect(await error).toMatchObject({ code: 'timeout' })
    expect(clock.pending).toBe(0)
  })

  it('ends when the caller gives up, with the reason of the caller', async () => {
    const { port, server } = await listening()
    const connected = new Promise((resolve) => server.once('connection', resolve))
    const hub = await startHub()
    const caller = new AbortController()
    const asked = dial({ ...hub.options('127.0.0.1', port), signal: caller.signal })
    await connected
    caller.abort(new Error('stopping'))
    await expect(asked).rejects.toThrow('stopping')
    await expect(dial({ ...hub.options(), signal: caller.signal })).rejects.toThrow('stopping')
  })

  it('is not lost on a pair that cannot be read', async () => {
    const hub = await startHub()
    const error = await failure(dial({ ...hub.options(), tls: () => ({ cert: 'no', key: 'pem' }), carriers: 'tls' }))
    expect(error).toMatchObject({ code: 'tls' })
  })
})

/** Accepts connections and says nothing. */
async function listening(): Promise<{ port: number; server: Server }> {
  const sockets = new Set<{ destroy(): void }>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
  })
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 })
  running.push({
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  })
  return { port, server }
}
