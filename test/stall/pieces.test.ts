/** Bodies in the smallest pieces, from many connections at the same moment: what is dear to read piece by piece is read in turns. */
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, it } from 'vitest'
import { expectShortTurnsDuring } from './limit.ts'
import { MeteredServer } from './metered-server.ts'
import { record } from './record.ts'

const connections = 20
/** As much as Node reads at once. */
const readBytes = 64 * 1024
/** In TLS 1.3, with a byte in it. */
const smallestRecordBytes = 23
const server = new MeteredServer()

beforeAll(() => server.start())
afterAll(() => server.stop())

const head = (how: string): string =>
  `POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\nauthorization: ${server.bearer}\r\n${how}\r\n\r\n`

/** TLS whose records are gathered while `isHeld`, to be sent in one piece. */
class HeldConnection {
  readonly #tcp: Socket
  readonly #held: Buffer[] = []
  isHeld = false

  constructor() {
    const { host, port } = server.connectOptions
    this.#tcp = connectTcp({ host, port })
  }

  async secure(): Promise<TLSSocket> {
    const carrier = new Duplex({
      read: () => {},
      write: (bytes: Buffer, _encoding, done) => {
        if (this.isHeld) this.#held.push(Buffer.from(bytes))
        else this.#tcp.write(bytes)
        done()
      },
    })
    this.#tcp.on('data', (bytes) => carrier.push(bytes))
    const { host, ca } = server.connectOptions
    const socket = connect({ socket: carrier, host, ca, ALPNProtocols: ['http/1.1'] })
    await once(socket, 'secureConnect')
    return socket
  }

  release(): void {
    this.#tcp.write(Buffer.concat(this.#held))
  }

  end(): void {
    this.#tcp.destroy()
  }
}

async function tinyRecords(): Promise<HeldConnection> {
  const held = new HeldConnection()
  const socket = await held.secure()
  socket.write(head('content-length: 100000'))
  held.isHeld = true
  for (let sent = 0; sent < readBytes; sent += smallestRecordBytes)
    await new Promise((written) => socket.write('a', written))
  return held
}

async function tinyChunks(): Promise<HeldConnection> {
  const held = new HeldConnection()
  const socket = await held.secure()
  socket.write(head('transfer-encoding: chunked'))
  held.isHeld = true
  const chunk = '1\r\na\r\n'
  await new Promise((written) => socket.write(chunk.repeat(readBytes / chunk.length), written))
  return held
}

it.each([
  ['records', tinyRecords],
  ['chunks', tinyChunks],
])(`bodies in %s of a byte, on ${connections} connections at once, stall nobody`, async (what, make) => {
  const name = `${what} of a byte on ${connections} connections`
  const { longestTurnMs } = await expectShortTurnsDuring(server, name, async () => {
    const all = await Promise.all(Array.from({ length: connections }, make))
    for (const each of all) each.release()
    // Behind what was sent before.
    await server.ask({ method: 'GET', path: '/version' })
    for (const each of all) each.end()
  })
  record({ [name]: { requestBytes: readBytes, status: 0, longestTurnMs } })
})
