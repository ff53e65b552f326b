/**
 * The built API server as a process of its own that is measured from the inside: how long did one turn of its event loop
 * take while a request was served, in processor time. That is how long everybody else had to wait.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { type Material, readMaterial } from '../../src/kube/client/connection.ts'
import { loadKubeconfig } from '../../src/kube/index.ts'
import { environmentWithoutOurs } from '../e2e/harness.ts'
import { removeFolder } from '../remove-folder.ts'

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const meter = new URL('./turn-meter.mjs', import.meta.url).href

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
  #child: ChildProcess | undefined
  #agent: Agent | undefined
  readonly #sessions: ClientHttp2Session[] = []
  #url = ''
  #ca: Buffer = Buffer.alloc(0)
  #log = ''

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
    const child = spawn(process.execPath, ['--import', meter, command, 'apiserver', ...flags], {
      cwd: this.folder,
      env: environmentWithoutOurs(),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#child = child
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-20_000)
    })
    await new Promise<void>((resolve, reject) => {
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        if (text.startsWith('ready')) resolve()
      })
      child.once('exit', (code, signal) => reject(new Error(`it ended: ${code} ${signal}\n${this.#log}`)))
    })
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
    return this.#child?.exitCode === null && this.#child.signalCode === null
  }

  /** The end of what it has logged. */
  get log(): string {
    return this.#log
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
    await this.#tell('start')
    const result = await action()
    const { longestMs = Number.POSITIVE_INFINITY } = this.isAlive ? await this.#tell('stop') : {}
    return { result, longestTurnMs: Math.round(longestMs) }
  }

  /** For clients that send what no library would. */
  get connectOptions(): { readonly host: string; readonly port: number; readonly ca: Buffer } {
    const { hostname: host, port } = new URL(this.#url)
    return { host, port: Number(port), ca: this.#ca }
  }

  get bearer(): string {
    return `Bearer ${token}`
  }

  async #tell(word: 'start' | 'stop'): Promise<{ longestMs?: number }> {
    const child = this.#child as ChildProcess
    return await new Promise((resolve) => {
      const gone = (): void => resolve({})
      child.once('exit', gone)
      child.once('message', (answer) => {
        child.off('exit', gone)
        resolve(answer as { longestMs?: number })
      })
      child.send(word)
    })
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy()
    await this.#agent?.destroy()
    if (this.isAlive) {
      const ended = once(this.#child as ChildProcess, 'exit')
      this.#child?.kill('SIGKILL')
      await ended
    }
    removeFolder(this.folder)
  }
}
