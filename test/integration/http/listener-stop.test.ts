import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadPki, type Pki } from '../../../src/apiserver/pki/pki.ts'
import { tlsFiles } from '../../../src/apiserver/trust.ts'
import { Listener } from '../../../src/http/server/listener.ts'
import { certificatePem } from '../../../src/identity/certificate.ts'
import type { RunningPart } from '../../../src/process/lifecycle.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { removeFolder } from '../../remove-folder.ts'
import { loudNet } from '../../worlds/loud-net.ts'

const never = new AbortController().signal
const LARGE = Buffer.alloc(8 * 1024 * 1024, 'x')

describe('the listener, stopping', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-listener-stop-'))
  const cleanups: (() => void)[] = []
  let pki: Pki
  let listener: Listener
  let running: RunningPart

  beforeAll(async () => {
    pki = await loadPki(folder, { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }, systemClock)
  })

  beforeEach(async () => {
    listener = new Listener({
      net: loudNet(),
      address: { host: '127.0.0.1', port: 0 },
      tls: tlsFiles(pki, []),
      clock: systemClock,
      handshakeFailed: () => {},
      connectionRefused: () => {},
      readerStalled: () => {},
      serve: (exchange) => exchange.respond(200, { 'content-type': 'text/plain' }, LARGE),
    })
    running = await listener.start(never)
  })

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) cleanup()
    await running.stop(AbortSignal.abort())
  })

  afterAll(() => removeFolder(folder))

  async function tls(ALPNProtocols: string[]): Promise<TLSSocket> {
    const ca = certificatePem(pki.ca.certificate)
    const socket = connectTls({ host: '127.0.0.1', port: listener.address.port, ca, ALPNProtocols })
    socket.on('error', () => {})
    cleanups.push(() => socket.destroy())
    await once(socket, 'secureConnect')
    return socket
  }

  it('lets an answer of HTTP/1.1 finish that is written and not read yet', async () => {
    const client = await tls(['http/1.1'])
    client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(client, 'readable')
    const stopping = running.stop(never)
    let receivedBytes = 0
    for await (const piece of client) receivedBytes += piece.length
    expect(receivedBytes).toBeGreaterThan(LARGE.length)
    await stopping
  })

  it.each(['http/1.1', 'h2'])('waits for nobody who has asked nothing over %s', async (protocol) => {
    const client = await tls([protocol])
    const closed = once(client.resume(), 'close')
    await running.stop(never)
    await closed
  })

  it('waits for nobody who has not begun with TLS', async () => {
    const client = connectTcp(listener.address.port, '127.0.0.1')
    client.on('error', () => {})
    cleanups.push(() => client.destroy())
    await once(client, 'connect')
    await tls(['http/1.1'])
    await running.stop(never)
    if (!client.closed) await once(client, 'close')
  })
})
