/** The hub's end of TLS in a WebSocket, against clients that do not come through. */
import { once } from 'node:events'
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls'
import { beforeAll, describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../../src/runtime/clock.ts'
import { serveInnerTls } from '../../../src/tunnel/carriers/serve-inner-tls.ts'
import { issuePems, type Pems } from '../../worlds/carrier-world.ts'
import { makeCa } from '../../worlds/edge-hub.ts'
import { duplexPair } from '../../worlds/yamux-duplex-pair.ts'

const limitMs = 5_000
let pems: Pems
let edge: Pems
beforeAll(async () => {
  const authority = await makeCa(systemClock)
  pems = await issuePems(authority, 'serverAuth', ['hub.example'])
  edge = await issuePems(authority, 'clientAuth', ['edge-1'])
})

function serve(contextFor: (name: string) => SecureContext | Error = () => createSecureContext(pems)) {
  const [near, far] = duplexPair()
  const clock = new ManualClock()
  const served = serveInnerTls(far, {
    secureContext: createSecureContext(pems),
    SNICallback: (name, done) => {
      const context = contextFor(name)
      if (context instanceof Error) done(context)
      else done(null, context)
    },
    clock,
    limitMs,
  })
  const handshake = (protocols: string[], servername = 'hub.example') =>
    connectTls({ socket: near, ...edge, ALPNProtocols: protocols, servername, rejectUnauthorized: false }).on(
      'error',
      () => {},
    )
  return { near, far, clock, served, handshake }
}

describe('TLS in a WebSocket', () => {
  it('hands over who came through, with the certificate it has shown and the name it asked for', async () => {
    const names: string[] = []
    const { served, handshake, clock } = serve((name) => {
      names.push(name)
      return createSecureContext(pems)
    })
    const client = handshake(['causeway/1'])
    const socket = await served
    socket.write('hello')
    expect(String((await once(client, 'data'))[0])).toBe('hello')
    expect(socket.getPeerX509Certificate()?.subject).toContain('CN=system:node:edge-1')
    expect([names, clock.pending]).toEqual([['hub.example'], 0])
  })

  it.each([[['http/1.1']], [[]]])('is for sessions only (%j)', async (protocols) => {
    const { served, handshake, far } = serve()
    handshake(protocols)
    await expect(served).rejects.toThrow()
    expect(far.destroyed).toBe(true)
  })

  it('is refused for a name that nobody serves', async () => {
    const { served, handshake } = serve(() => new Error('no such cluster'))
    handshake(['causeway/1'])
    await expect(served).rejects.toThrow('no such cluster')
  })

  it('ends with a client that sends something else', async () => {
    const { served, near, far } = serve()
    near.write('GET / HTTP/1.1\r\n\r\n')
    await expect(served).rejects.toThrow()
    expect(far.destroyed).toBe(true)
  })

  it('ends with a client that leaves', async () => {
    const { served, near, far } = serve()
    near.end()
    await expect(served).rejects.toThrow('left during its TLS handshake')
    expect(far.destroyed).toBe(true)
  })

  it('waits for a silent client for so long only', async () => {
    const { served, clock, far } = serve()
    const failed = expect(served).rejects.toThrow('within 5 s')
    await clock.advance(limitMs)
    await failed
    expect([far.destroyed, clock.pending]).toEqual([true, 0])
  })

  it('ends when the hub destroys the stream', async () => {
    const { served, far, clock } = serve()
    far.destroy()
    await expect(served).rejects.toThrow('left during its TLS handshake')
    expect(clock.pending).toBe(0)
  })

  it('has a place for clients that name no server only where it is told so', async () => {
    const [near, far] = duplexPair()
    const SNICallback = (): void => {}
    const served = serveInnerTls(far, { secureContext: undefined, SNICallback, clock: new ManualClock(), limitMs })
    connectTls({ socket: near, ALPNProtocols: ['causeway/1'], rejectUnauthorized: false }).on('error', () => {})
    await expect(served).rejects.toThrow(/no shared cipher|no suitable signature/)
  })
})
