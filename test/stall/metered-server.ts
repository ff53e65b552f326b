/** The built API server as a process that is measured from the inside, and what asks it. */
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { type Material, readMaterial } from '../../src/kube/client/connection.ts'
import { loadKubeconfig } from '../../src/kube/index.ts'
import { removeFolder } from '../remove-folder.ts'
import { MeteredProcess } from './metered-process.ts'

/** A token in a file of the server: who asks is no part of what is measured. */
const token = 'stall-suite-token'

export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Buffer
}

export interface Measured {
  /** 0 where there was no answer: the connection was cut. */
  readonly status: number
  readonly answerBytes: number
  /** The beginning of the answer. */
  readonly answer: string
  readonly longestTurnMs: number
}

const shownCharacters = 2_000

export class MeteredServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'causeway-stall-'))
  readonly #process = new MeteredProcess()
  #agent: Agent | undefined
  readonly #sessions: ClientHttp2Session[] = []
  #url = ''
  #ca: Buffer = Buffer.alloc(0)

  async start(): Promise<void> {
    const tokens = join(this.folder, 'tokens.csv')
    writeFileSync(tokens, `${token},stall,stall-uid,"system:masters"\n`, { mode: 0o600 })
    const data = join(this.folder, 'data')
    const flags = [
      '--data-dir',
      data,
      '--secure-port',
      '0',
      '--health-address',
      '127.0.0.1:0',
      '--token-auth-file',
      tokens,
    ]
    await this.#process.start(['apiserver', ...flags], { folder: this.folder })
    const { server, tls } = await loadKubeconfig({ file: join(data, 'admin.kubeconfig') })
    this.#url = server
    this.#ca = await readMaterial(tls.ca as Material, 'the CA')
    this.#agent = new Agent({
      connect: { ca: this.#ca },
      headersTimeout: 120_000,
      bodyTimeout: 120_000,
    })
  }

  get isAlive(): boolean {
    return this.#process.isAlive
  }

  /** The end of what it has logged. */
  get log(): string {
    return this.#process.log
  }

  async ask(sent: Sent): Promise<Omit<Measured, 'longestTurnMs'>> {
    const { method, path, headers = {}, body } = sent
    try {
      const answer = await request(`${this.#url}${path}`, {
        method: method as 'GET',
        dispatcher: this.#agent as Agent,
        headers: { authorization: this.bearer, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body }),
      })
      const bytes = Buffer.from(await answer.body.arrayBuffer())
      return {
        status: answer.statusCode,
        answerBytes: bytes.length,
        answer: bytes.toString('utf8', 0, shownCharacters),
      }
    } catch (error) {
      return { status: 0, answerBytes: 0, answer: String(error) }
    }
  }

  /** A connection that carries many requests, and the headers that each of them needs. */
  async session(): Promise<{ session: ClientHttp2Session; headers: OutgoingHttpHeaders }> {
    const session = connect(this.#url, { ca: this.#ca })
    this.#sessions.push(session)
    await once(session, 'connect')
    return { session, headers: { authorization: this.bearer } }
  }

  async measure(sent: Sent): Promise<Measured> {
    const { result, longestTurnMs } = await this.measureDuring(() => this.ask(sent))
    return { ...result, longestTurnMs }
  }

  async measureDuring<Result>(action: () => Promise<Result>): Promise<{ result: Result; longestTurnMs: number }> {
    return await this.#process.measureDuring(action)
  }

  /** For clients that send what no library would. */
  get connectOptions(): { readonly host: string; readonly port: number; readonly ca: Buffer } {
    const { hostname: host, port } = new URL(this.#url)
    return { host, port: Number(port), ca: this.#ca }
  }

  get bearer(): string {
    return `Bearer ${token}`
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy()
    await this.#agent?.destroy()
    await this.#process.stop()
    removeFolder(this.folder)
  }
}
