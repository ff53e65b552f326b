/**
 * Many edges in one process: each joins under a name of its own and then holds a session, with pings and all, that carries
 * nothing. They share one key, which saves the time to make thousands.
 */
import { once } from 'node:events'
import { request } from 'node:https'
import { connect } from 'node:tls'
import { createRequest } from '../../src/identity/csr.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { nodeSubject } from '../../src/identity/node-name.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { SessionDriver } from '../../src/tunnel/session-driver.ts'
import { SocketCarrier } from '../../src/tunnel/socket-carrier.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import { loudNet } from '../../test/worlds/loud-net.ts'
import { serveCalls } from './rpc.ts'

/** As many joins as a hub works on at a time. */
const atATime = 48

export interface EdgesWish {
  readonly url: string
  readonly jwt: string
  readonly first: number
  readonly count: number
}

export type EdgesApi = {
  join: (wish: EdgesWish) => Promise<void>
  /** How many sessions live after it. */
  connect: (wish: { url: string }) => Promise<number>
  living: () => number
}

const certificates: string[] = []
const living = new Set<SessionDriver>()
const budget = new Budget()
let keyPem = ''

export function serveEdges(): void {
  serveCalls({
    join: joinAll,
    connect: async ({ url }) => {
      await inTurn(certificates, (cert) => connectEdge(new URL(url), cert))
      return living.size
    },
    living: () => living.size,
  } satisfies EdgesApi)
}

async function joinAll({ url, jwt, first, count }: EdgesWish): Promise<void> {
  const { privateKey } = await generateKeys()
  keyPem = privateKeyPem(privateKey)
  const names = Array.from({ length: count }, (_, index) => `idle-${first + index}`)
  await inTurn(names, async (name) => {
    const body = await createRequest({ subject: nodeSubject(name) }, privateKey)
    certificates.push(await join(`${url}/edge.crt`, jwt, body))
  })
}

async function inTurn<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item)
  }
  await Promise.all(Array.from({ length: atATime }, worker))
}

function join(url: string, jwt: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${jwt}`, 'content-length': Buffer.byteLength(body) }
    const sent = request(url, { method: 'POST', headers, agent: false, rejectUnauthorized: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () =>
        response.statusCode === 200 ? resolve(text) : reject(new Error(`${response.statusCode} ${text}`)),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Resolves with the first pong, which a hub sends only to an edge that it has let in. */
async function connectEdge({ hostname, port }: URL, cert: string): Promise<void> {
  const identity = { cert, key: keyPem, rejectUnauthorized: false }
  const socket = connect({ host: hostname, port: Number(port), ALPNProtocols: ['causeway/1'], ...identity })
  await once(socket, 'secureConnect')
  await new Promise<void>((resolve) => {
    const driver = new SessionDriver({
      net: loudNet(),
      role: 'client',
      carrier: new SocketCarrier(socket, 'tls'),
      clock: systemClock,
      budget,
      handler: {
        onStream: (stream) => stream.destroy(),
        onRoundTrip: () => {
          living.add(driver)
          resolve()
        },
        onEnd: () => {
          living.delete(driver)
          resolve()
        },
      },
    })
  })
}
