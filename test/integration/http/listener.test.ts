import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { connect as connectTcp, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadPki, type Pki } from '../../../src/apiserver/pki/pki.ts'
import { tlsFiles } from '../../../src/apiserver/trust.ts'
import { BodyTooLargeError, type Exchange } from '../../../src/http/server/exchange.ts'
import { MAX_REQUEST_HEADER_BYTES, MAX_REQUEST_HEADERS } from '../../../src/http/server/limits.ts'
import { Listener } from '../../../src/http/server/listener.ts'
import { certificatePem } from '../../../src/identity/certificate.ts'
import type { RunningPart } from '../../../src/process/lifecycle.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { removeFolder } from '../../remove-folder.ts'
import { loudNet } from '../../worlds/loud-net.ts'

const maxBodyBytes = 1_000
const maxConnections = 8

describe('the listener', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-listener-'))
  const counts = { handshakes: 0, refused: 0 }
  let pki: Pki
  let listener: Listener
  let running: RunningPart

  beforeAll(async () => {
    pki = await loadPki(folder, { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }, systemClock)
    listener = new Listener({
      net: loudNet(),
      address: { host: '127.0.0.1', port: 0 },
      tls: tlsFiles(pki, [{ pem: certificatePem(pki.frontProxyClient.chain[0]), source: 'further.crt' }]),
      clock: systemClock,
      maxConnections,
      handshakeFailed: () => counts.handshakes++,
      connectionRefused: () => counts.refused++,
      readerStalled: () => {},
      serve: (exchange) => void serve(exchange),
    })
    running = await listener.start(new AbortController().signal)
  })

  afterAll(async () => {
    await running.stop(AbortSignal.abort())
    removeFolder(folder)
  })

  /** Answers with the number of headers, after the body where there is one to read. */
  async function serve(exchange: Exchange): Promise<void> {
    const headers = { 'content-type': 'text/plain' }
    try {
      if (exchange.target === '/body') await exchange.readBody(maxBodyBytes)
      if (exchange.target === '/head-first') {
        const answer = exchange.stream(200, headers)
        await exchange.readBody(maxBodyBytes)
        answer.end()
        return
      }
      exchange.respond(200, headers, Buffer.from(String([...exchange.headers.names()].length)))
    } catch (error) {
      if (error instanceof BodyTooLargeError) exchange.respond(413, headers, Buffer.from('too large'))
    }
  }

  const ca = (): string => certificatePem(pki.ca.certificate)

  async function http1(
    options: RequestOptions,
    body = '',
  ): Promise<{ status: number; connection: string | undefined }> {
    const { port } = listener.address
    const request = httpsRequest({ host: '127.0.0.1', port, ca: ca(), agent: new Agent(), ...options })
    request.on('error', () => {})
    request.end(body)
    const [response] = await once(request, 'response')
    response.resume()
    return { status: response.statusCode, connection: response.headers.connection }
  }

  /** Unlike `once`, whatever error it closes with. */
  async function closeOf(socket: Socket): Promise<void> {
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  }

  function http2(): ClientHttp2Session {
    return connectHttp2(`https://127.0.0.1:${listener.address.port}`, { ca: ca() })
  }

  const many = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'v']))

  it('names the CAs of client certificates, ours and those it was given', async () => {
    const socket = connectTls({ host: '127.0.0.1', port: listener.address.port, ca: ca() })
    await once(socket, 'secureConnect')
    // The names are in no API of Node; OpenSSL asks for a certificate at all only if it has some.
    expect(socket.authorized).toBe(true)
    socket.destroy()
    expect(tlsFiles(pki, [{ pem: ca(), source: 'x' }]).clientCas).toHaveLength(3)
    expect(() => tlsFiles(pki, [{ pem: 'nothing', source: 'further.crt' }])).toThrow('further.crt')
  })

  it('takes large and many headers over HTTP/1.1, and refuses more', async () => {
    const large = { 'x-large': 'v'.repeat(MAX_REQUEST_HEADER_BYTES / 2) }
    expect(await http1({ path: '/', headers: large })).toMatchObject({ status: 200 })
    expect(await http1({ path: '/', headers: many(MAX_REQUEST_HEADERS - 10) })).toMatchObject({ status: 200 })
    expect(await http1({ path: '/', headers: many(MAX_REQUEST_HEADERS + 1) })).toEqual({
      status: 431,
      connection: 'close',
    })
    const tooLarge = { 'x-large': 'v'.repeat(MAX_REQUEST_HEADER_BYTES + 1) }
    // Node answers 431 and closes at once; which of the two the client sees first is chance.
    expect(await http1({ path: '/', headers: tooLarge }).catch(() => ({ status: 431 }))).toMatchObject({ status: 431 })
  })

  it('takes large and many headers over HTTP/2, and refuses more', async () => {
    const session = http2()
    const status = async (headers: Record<string, string>): Promise<unknown> => {
      const stream = session.request({ ':path': '/', ...headers })
      stream.on('error', () => {}).resume()
      return await new Promise((resolve) => {
        stream.once('response', (answer) => resolve(answer[':status']))
        stream.once('close', () => resolve(stream.rstCode))
      })
    }
    expect(await status({ 'x-large': 'v'.repeat(MAX_REQUEST_HEADER_BYTES / 2) })).toBe(200)
    expect(await status(many(MAX_REQUEST_HEADERS - 10))).toBe(200)
    expect(await status(many(MAX_REQUEST_HEADERS + 10))).toBe(431)
    session.destroy()
  })

  it('closes an HTTP/1.1 connection whose body is too large', async () => {
    const body = 'x'.repeat(maxBodyBytes + 1)
    expect(await http1({ path: '/body', method: 'POST' }, body)).toEqual({ status: 413, connection: 'close' })
    expect(await http1({ path: '/body', method: 'POST' }, 'x')).toMatchObject({ status: 200 })
  })

  it('ends an HTTP/2 stream with its answer, though the client would go on sending', async () => {
    const session = http2()
    const stream = session.request({ ':path': '/', ':method': 'POST' }, { endStream: false })
    stream.resume()
    await once(stream, 'close')
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR)
    session.destroy()
  })

  it('asks over HTTP/2 for a body that a client holds back, where it is wanted and nothing was answered yet', async () => {
    const session = http2()
    const heads = async (path: string, bytes: number): Promise<{ heads: unknown[]; rstCode: number | undefined }> => {
      const fields = { ':path': path, ':method': 'POST', expect: '100-continue', 'content-length': bytes }
      const stream = session.request(fields, { endStream: false })
      const heard: unknown[] = []
      const send = (): void => {
        if (!stream.writableEnded && !stream.destroyed) stream.end('x'.repeat(bytes))
      }
      stream.on('continue', () => heard.push(100)).once('continue', send)
      stream.on('response', (answer) => heard.push(answer[':status'])).once('response', send)
      stream.on('error', () => {}).resume()
      await once(stream, 'close')
      return { heads: heard, rstCode: stream.rstCode }
    }
    const rstCode = constants.NGHTTP2_NO_ERROR
    expect(await heads('/body', maxBodyBytes)).toEqual({ heads: [100, 200], rstCode })
    expect(await heads('/body', maxBodyBytes + 1)).toEqual({ heads: [413], rstCode })
    expect(await heads('/head-first', 1)).toEqual({ heads: [200], rstCode })
    session.destroy()
  })

  it('counts connections that never become TLS', async () => {
    const before = counts.handshakes
    const socket = connectTcp(listener.address.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.end('GET / HTTP/1.1\r\n\r\n')
    await closeOf(socket.resume())
    await expect.poll(() => counts.handshakes).toBe(before + 1)
  })

  it('closes connections beyond the limit at once, and takes new ones when others have gone', async () => {
    const sockets = Array.from({ length: maxConnections + 4 }, () => connectTcp(listener.address.port, '127.0.0.1'))
    for (const socket of sockets) socket.on('error', () => {}).resume()
    await Promise.race(sockets.map(closeOf))
    expect(counts.refused).toBeGreaterThan(0)
    for (const socket of sockets) await closeOf(socket.destroy())
    // The listener hears a little later that they have gone.
    const isTaken = async (): Promise<boolean> => {
      const socket = connectTls({ host: '127.0.0.1', port: listener.address.port, ca: ca() })
      socket.on('error', () => {})
      const secured = new Promise<boolean>((resolve) => socket.once('secureConnect', () => resolve(true)))
      const taken = await Promise.race([secured, closeOf(socket).then(() => false)])
      socket.destroy()
      return taken
    }
    await expect.poll(isTaken).toBe(true)
  })
})
