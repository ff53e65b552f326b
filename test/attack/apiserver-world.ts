/** An API server under attack: our own, asked by hand, with targets and headers that no client library would send. */
import { HttpTransport, type KubeObject } from '../../src/kube/index.ts'
import { systemClock } from '../../src/telemetry/clock.ts'
import { startOwnApiServer } from '../contract/own-api-server.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Of a watch what it shows before the end of its initial events. */
  readonly text: string
}

export interface Asking {
  /** Whom the administrator plays; the administrator itself where nothing is said. */
  readonly as?: string
  readonly groups?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | object
}

export interface AttackedServer {
  ask(method: string, target: string, asking?: Asking): Promise<Answer>
  /** As the administrator, and it must succeed. */
  create(path: string, object: object): Promise<KubeObject>
  stop(): Promise<void>
}

export async function attackedServer(): Promise<AttackedServer> {
  const server = await startOwnApiServer()
  const transport = new HttpTransport(server.connection, { clock: systemClock })
  const ask: AttackedServer['ask'] = async (method, path, { as, groups = [], headers = {}, body } = {}) => {
    const given: [string, string][] = [
      ...(as === undefined ? [] : [['impersonate-user', as] as [string, string]]),
      ...groups.map((group): [string, string] => ['impersonate-group', group]),
      ...(body === undefined ? [] : [['content-type', 'application/json'] as [string, string]]),
      ...Object.entries(headers),
    ]
    const bytes =
      body === undefined ? {} : { body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) }
    const response = await transport.request({ method, path, headers: given, ...bytes })
    return { status: response.status, headers: response.headers, text: await readText(response.body) }
  }
  return {
    ask,
    create: async (path, object) => {
      const { status, text } = await ask('POST', path, { body: object })
      if (status !== 201) throw new Error(`${path}: ${status} ${text}`)
      return JSON.parse(text) as KubeObject
    },
    stop: async () => {
      await transport.close()
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
