/** Clients that ask for much and read nothing of it: what waits for them is bounded, and they are cut where others need room. */
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { type ClientHttp2Stream, connect, constants } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { loadPki, type Pki } from '../../src/apiserver/pki/pki.ts'
import { tlsFiles } from '../../src/apiserver/trust.ts'
import {
  MAX_UNSENT_BYTES_PER_CONNECTION,
  STALLED_READER_CHECK_MS,
  STALLED_READER_UNDER_PRESSURE_MS,
} from '../../src/http/server/limits.ts'
import { Listener } from '../../src/http/server/listener.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { ManualClock, systemClock } from '../../src/runtime/clock.ts'
import { removeFolder } from '../remove-folder.ts'
import { loudNet } from '../worlds/loud-net.ts'
import { http1Client, http2Client } from './fault-clients.ts'

const mebibyte = 1024 * 1024
const large = Buffer.alloc(mebibyte, 'x')
const huge = Buffer.alloc(8 * mebibyte, 'y')

describe('a listener', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-reader-'))
  let pki: Pki
  let listener: Listener
  let running: RunningPart
  let served = 0
  let stalled = 0

  beforeAll(async () => {
    pki = await loadPki(folder, { dnsNames: [], ipAddresses: ['127.0.0.1'] }, systemClock)
    listener = new Listener({
      address: { host: '127.0.0.1', port: 0 },
      tls: tlsFiles(pki),
      clock: systemClock,
      net: loudNet(),
      maxUnsentBytes: mebibyte / 2,
      handshakeFailed: () => {},
      connectionRefused: () => {},
      readerStalled: () => {
        stalled += 1
      },
      serve: (exchange) => {
        served += 1
        const body = exchange.target === '/huge' ? huge : exchange.target === '/small' ? Buffer.from('ok') : large
        exchange.respond(200, { 'content-type': 'text/plain' }, body)
      },
    })
    running = await listener.start(new AbortController().signal)
  })

  afterEach(() => {
    served = 0
    stalled = 0
  })

  afterAll(async () => {
    await running.stop(AbortSignal.abort())
    removeFolder(folder)
  })

  const tls = () => ({ port: listener.address.port, ca: tlsFiles(pki).clientCas[0] ?? '' })

  async function expectOthersServed(): Promise<void> {
    const clients = [http1Client(tls()), http2Client(tls())]
    for (const client of clients) expect(await client.ask({ path: '/small' })).toBe(200)
    for (const client of clients) client.close()
  }

  it('cuts a client of HTTP/2 that opens stream after stream and reads none, and serves the others', async () => {
    const session = connect(`https://127.0.0.1:${tls().port}`, tls())
    session.on('error', () => {})
    const streams: ClientHttp2Stream[] = []
    for (let each = 0; each < 200; each++) {
      const stream = session.request({ ':path': '/large' })
      stream.on('error', () => {})
      streams.push(stream)
      if (each % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const gone = new Promise((resolve) => session.once('close', resolve))
    await expectOthersServed()
    await gone
    expect(stalled).toBe(1)
    expect(served).toBeLessThan(200)
  })

  it('cuts a client of HTTP/1.1 that sends request after request and reads nothing, and serves the others', async () => {
    const { port, ca } = tls()
    const socket = connectTls({ host: '127.0.0.1', port, ca, ALPNProtocols: ['http/1.1'] })
    socket.on('error', () => {}).pause()
    await new Promise((resolve) => socket.once('secureConnect', resolve))
    const gone = new Promise((resolve) => socket.once('close', resolve))
    for (let each = 0; each < 20; each++) socket.write('GET /large HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(10))
    await expect.poll(() => stalled).toBe(1)
    await expectOthersServed()
    socket.resume()
    await gone
    expect(stalled).toBe(1)
  })

  it.each(['HTTP/1.1', 'HTTP/2'])('lets a slow client of %s read its answer to the end', async (version) => {
    let bytes = 0
    const onData = (source: NodeJS.ReadableStream) => (chunk: Buffer) => {
      bytes += chunk.length
      source.pause()
      setTimeout(() => source.resume(), 4)
    }
    if (version === 'HTTP/2') {
      const session = connect(`https://127.0.0.1:${tls().port}`, tls())
      const stream = session.request({ ':path': '/huge' })
      stream.on('data', onData(stream))
      await new Promise((resolve) => stream.once('close', resolve))
      session.destroy()
    } else {
      await new Promise((resolve) => {
        httpsRequest({ host: '127.0.0.1', ...tls(), path: '/huge' }, (response) => {
          response.on('data', onData(response)).once('close', resolve)
        }).end()
      })
    }
    expect([bytes, stalled]).toEqual([huge.length, 0])
  })
})

describe('two callers on one connection', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-neighbour-'))
  afterAll(() => removeFolder(folder))

  it('the one who reads nothing delays the other by no more than a link may stop', async () => {
    const clock = new ManualClock(Date.now())
    const pki = await loadPki(folder, { dnsNames: [], ipAddresses: ['127.0.0.1'] }, systemClock)
    const served = { greedy: 0, modest: 0 }
    const listener = new Listener({
      address: { host: '127.0.0.1', port: 0 },
      tls: tlsFiles(pki),
      clock,
      net: loudNet(),
      handshakeFailed: () => {},
      connectionRefused: () => {},
      readerStalled: () => {},
      serve: (exchange) => {
        served[exchange.target === '/modest' ? 'modest' : 'greedy'] += 1
        exchange.respond(200, {}, exchange.target === '/modest' ? Buffer.from('ok') : large)
      },
    })
    const running = await listener.start(new AbortController().signal)
    const session = connect(`https://127.0.0.1:${listener.address.port}`, { ca: tlsFiles(pki).clientCas[0] ?? '' })
    session.on('error', () => {})
    // More than a connection may have of answers that nobody reads, ten times over: all but the first wait.
    const codes: number[] = []
    const room = Math.ceil(MAX_UNSENT_BYTES_PER_CONNECTION / (large.length - 64 * 1024))
    const greedy = Array.from({ length: 10 * room }, () =>
      session.request({ ':path': '/greedy', authorization: 'Bearer greedy' }),
    )
    for (const stream of greedy)
      stream.on('error', () => {}).on('close', () => codes.push(stream.rstCode ?? constants.NGHTTP2_NO_ERROR))
    await expect.poll(() => served.greedy).toBeGreaterThan(room / 2)
    const modest = session.request({ ':path': '/modest', authorization: 'Bearer modest' })
    const answered = once(modest, 'response')
    const limitMs = STALLED_READER_UNDER_PRESSURE_MS + STALLED_READER_CHECK_MS
    for (let passedMs = 0; passedMs < limitMs; passedMs += STALLED_READER_CHECK_MS) {
      expect(served.modest).toBe(0)
      await new Promise((resolve) => session.ping((error) => resolve(error)))
      await clock.advance(STALLED_READER_CHECK_MS)
    }
    expect((await answered)[0][':status']).toBe(200)
    await expect.poll(() => codes.length).toBeGreaterThan(0)
    expect(new Set(codes)).toEqual(new Set([constants.NGHTTP2_INTERNAL_ERROR]))
    expect(session.destroyed).toBe(false)
    session.destroy()
    await running.stop(AbortSignal.abort())
  })
})
