/** Clients of both versions of HTTP that tell an answer from a connection, or a stream, that was cut. */
import type { IncomingMessage } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import { Agent, request as httpsRequest } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import { VICTIM } from './faults.ts'

export interface Asked {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A status, and whether the answer came to its end. */
export type Outcome = number | 'cut'

export interface FaultClient {
  readonly name: 'HTTP/1.1' | 'HTTP/2'
  ask(asked: Asked): Promise<Outcome>
  close(): void
}

type Tls = SecureContextOptions & { readonly port: number }

/** Keeps its connection, as programs do, and opens another where that was cut. */
export function http1Client(tls: Tls): FaultClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...tls })
  return {
    name: 'HTTP/1.1',
    ask: async (asked) => {
      const first = await askOnce(tls, agent, asked)
      // One that the server has closed in the meantime, as it may at any time.
      const mayRepeat = asked.headers?.[VICTIM] === undefined
      if (first === 'stale' && !mayRepeat) return 'cut'
      return first === 'stale' ? ((await askOnce(tls, agent, asked)) as Outcome) : first
    },
    close: () => agent.destroy(),
  }
}

function askOnce(tls: Tls, agent: Agent, asked: Asked): Promise<Outcome | 'stale'> {
  const { method = 'GET', path, headers = {}, body } = asked
  return new Promise((resolve) => {
    const request = httpsRequest({ host: '127.0.0.1', ...tls, agent, method, path, headers })
    request.on('error', () => resolve(request.reusedSocket ? 'stale' : 'cut'))
    request.on('response', (response: IncomingMessage) => {
      response.on('error', () => {}).resume()
      response.on('close', () => resolve(response.complete ? (response.statusCode ?? 0) : 'cut'))
    })
    request.end(body)
  })
}

export function http2Client(tls: Tls): FaultClient {
  let session: ClientHttp2Session | undefined
  const open = (): ClientHttp2Session => {
    if (session === undefined || session.closed || session.destroyed) {
      session = connect(`https://127.0.0.1:${tls.port}`, tls)
      session.on('error', () => {})
    }
    return session
  }
  return {
    name: 'HTTP/2',
    ask: async ({ method = 'GET', path, headers = {}, body }) => {
      const stream = open().request({ ':method': method, ':path': path, ...headers })
      let status = 0
      stream
        .on('error', () => {})
        .on('response', (head) => {
          status = Number(head[':status'])
        })
      stream.resume().end(body)
      if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve))
      return stream.rstCode === 0 && status > 0 ? status : 'cut'
    },
    close: () => session?.destroy(),
  }
}
