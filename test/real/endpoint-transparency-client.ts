/** A client that looks closely: whole answers, as they came over HTTP/1.1 or HTTP/2, by either way to the API server. */
import { once } from 'node:events'
import type { ClientRequest, Agent as Http1Agent, IncomingMessage } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { Agent, request } from 'node:https'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Credential } from '../e2e/hub-cluster.ts'

export type Version = '1.1' | '2'
export type Headers = Readonly<Record<string, string | readonly string[]>>

export interface Question {
  readonly method?: string
  readonly path: string
  readonly headers?: Headers
  readonly body?: Buffer | string
  /** The body is sent without its length. */
  readonly isUnmeasured?: boolean
}

export interface Head {
  readonly status: number
  /** Names in lower case, sorted; values of one name in their order. */
  readonly headers: readonly (readonly [string, string])[]
}

export interface Answer extends Head {
  readonly body: Buffer
}

/** An answer whose body is still coming. */
export interface OpenAnswer extends Head {
  readonly body: Readable
  /** As a client does that has seen enough. */
  leave(): void
}

export interface ClientOptions {
  readonly server: string
  readonly ca: string
  readonly version: Version
  /** At most one of them. */
  readonly token?: string
  readonly certificate?: Credential
}

/** One connection of HTTP/2, or those that HTTP/1.1 needs. */
export class TransparencyClient {
  readonly #options: ClientOptions
  readonly #agent: Http1Agent
  #session: ClientHttp2Session | undefined

  constructor(options: ClientOptions) {
    this.#options = options
    this.#agent = new Agent({ keepAlive: true, ca: options.ca, ...options.certificate })
  }

  async ask(question: Question): Promise<Answer> {
    const { status, headers, body } = await this.open(question)
    return { status, headers, body: await buffer(body) }
  }

  async open(question: Question): Promise<OpenAnswer> {
    return this.#options.version === '2' ? await this.#open2(question) : await this.#open1(question)
  }

  /** Sends a body without its end, and returns how to leave it so. */
  async sendHalf({ method = 'POST', path, headers = {}, body }: Question): Promise<() => void> {
    const { server, version, token } = this.#options
    const own = { authorization: `Bearer ${token}`, ...(headers as Record<string, string>) }
    if (version === '2') {
      const stream = this.#connection().request({ ':method': method, ':path': path, ...own })
      stream.on('error', () => {})
      await new Promise((resolve) => stream.write(body, resolve))
      return () => stream.destroy(new Error('enough'))
    }
    const { hostname: host, port } = new URL(server)
    const sent = request({ host, port, path, method, agent: this.#agent, headers: own })
    sent.on('error', () => {})
    await new Promise((resolve) => sent.write(body, resolve))
    return () => sent.destroy()
  }

  close(): void {
    this.#agent.destroy()
    this.#session?.destroy()
  }

  #headersOf({ headers = {}, body, isUnmeasured = false }: Question): Record<string, string | string[]> {
    const { token, version } = this.#options
    const chunked = version === '1.1' ? { 'transfer-encoding': 'chunked' } : {}
    const length = isUnmeasured ? chunked : { 'content-length': String(Buffer.byteLength(body ?? '')) }
    return {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : length),
      ...(headers as Record<string, string | string[]>),
    }
  }

  async #open1(question: Question): Promise<OpenAnswer> {
    const { method = 'GET', path, body } = question
    const { hostname, port } = new URL(this.#options.server)
    const options = { host: hostname, port, path, method, agent: this.#agent, headers: this.#headersOf(question) }
    const sent: ClientRequest = request(options)
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>
    // Where a body is refused before its end, what is left of it cannot be sent.
    sent.on('error', () => {})
    sent.end(body)
    const [answer] = await answered
    const { statusCode: status = 0, rawHeaders } = answer
    return { status, headers: sorted(rawHeaders), body: answer, leave: () => answer.destroy() }
  }

  async #open2(question: Question): Promise<OpenAnswer> {
    const { method = 'GET', path, body } = question
    const pseudo = { ':method': method, ':path': path }
    const endStream = body === undefined
    const stream = this.#connection().request({ ...pseudo, ...this.#headersOf(question) }, { endStream })
    const answered = once(stream, 'response') as Promise<[IncomingHttpHeaders, number, string[]]>
    if (body !== undefined) stream.end(body)
    const [headers, , raw] = await answered
    return { status: Number(headers[':status']), headers: sorted(raw), body: stream, leave: () => stream.close() }
  }

  #connection(): ClientHttp2Session {
    const { server, ca, certificate } = this.#options
    if (this.#session === undefined || this.#session.closed)
      this.#session = connectHttp2(server, { ca, ...certificate }).on('error', () => {})
    return this.#session
  }
}

function sorted(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let index = 0; index + 1 < raw.length; index += 2)
    pairs.push([(raw[index] as string).toLowerCase(), raw[index + 1] as string])
  return pairs
    .filter(([name]) => !name.startsWith(':'))
    .toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
}
