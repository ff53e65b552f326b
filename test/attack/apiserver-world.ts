/** An API server under attack: our own, asked by hand, with targets and headers that no client library would send. */
import { HttpTransport, type KubeObject } from '../../src/kube/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { startOwnApiServer } from '../worlds/own-api-server.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Of a watch what it shows before the end of its initial events. */
  readonly text: string
}

export interface Asking {
  /** Who asks, by a bearer token; the administrator where nothing is said. */
  readonly token?: string
  /** Whom the administrator plays; the administrator itself where nothing is said. */
  readonly as?: string
  readonly groups?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | object
  /** Of the body. */
  readonly type?: string
}

export interface AttackedServer {
  ask(method: string, target: string, asking?: Asking): Promise<Answer>
  /** As the administrator, and it must succeed. */
  create(path: string, object: object): Promise<KubeObject>
  /** What the administrator reads there. */
  read(path: string): Promise<KubeObject>
  stop(): Promise<void>
}

/** `tokens` is a file of static ones: `token,user,uid,"group,group"`. */
export async function attackedServer(tokens = ''): Promise<AttackedServer> {
  const server = await startOwnApiServer(undefined, { tokens: { csv: tokens, source: 'tokens.csv' } })
  const transport = new HttpTransport(server.connection, { clock: systemClock })
  const { clientCertificate: _, ...tls } = server.connection.tls
  const bare = new HttpTransport(
    { ...server.connection, tls, credentials: { type: 'anonymous' } },
    { clock: systemClock },
  )
  const ask: AttackedServer['ask'] = async (
    method,
    path,
    { token, as, groups = [], headers = {}, body, type = 'application/json' } = {},
  ) => {
    const given: [string, string][] = [
      ...(token === undefined ? [] : [['authorization', `Bearer ${token}`] as [string, string]]),
      ...(as === undefined ? [] : [['impersonate-user', as] as [string, string]]),
      ...groups.map((group): [string, string] => ['impersonate-group', group]),
      ...(body === undefined ? [] : [['content-type', type] as [string, string]]),
      ...Object.entries(headers),
    ]
    const bytes =
      body === undefined ? {} : { body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) }
    const response = await (token === undefined ? transport : bare).request({ method, path, headers: given, ...bytes })
    return { status: response.status, headers: response.headers, text: await readText(response.body) }
  }
  return {
    ask,
    create: async (path, object) => {
      const { status, text } = await ask('POST', path, { body: object })
      if (status !== 201) throw new Error(`${path}: ${status} ${text}`)
      return JSON.parse(text) as KubeObject
    },
    read: async (path) => JSON.parse((await ask('GET', path)).text) as KubeObject,
    stop: async () => {
      await Promise.all([transport.close(), bare.close()])
      await server.stop()
    },
  }
}

/** A watch has shown all there is when it says so; the targets ask for that. */
const initialEventsEnd = 'k8s.io/initial-events-end'

async function readText(body: AsyncIterable<Buffer> & { destroy(): void }): Promise<string> {
  let text = ''
  for await (const piece of body) {
    text += piece.toString()
    if (text.includes(initialEventsEnd)) break
  }
  body.destroy()
  return text
}
