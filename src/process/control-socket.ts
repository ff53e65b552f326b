/**
 * The control socket of a role: a unix socket in its data folder by which the person who may read that folder asks the running
 * process how it is. It tells, and does what ends with the process, such as pulling the cable of an edge of `up`; whatever lasts
 * goes through the cluster, with that person's own rights.
 */

import { chmodSync, rmSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { ExplainedError } from '../runtime/explained-error.ts'
import { type BoundedHttpLimits, createBoundedHttp } from './bounded-http.ts'
import { HttpDrain } from './http-drain.ts'
import type { Part, RunningPart } from './lifecycle.ts'
import type { SafetyNet } from './safety-net.ts'

export const CONTROL_SOCKET_NAME = 'control.sock'
const ownerOnly = 0o600
/** What the kernel has room for in the address of a unix socket, its closing zero left out. */
export const MAX_SOCKET_PATH_BYTES = 107
/** One person at a terminal, perhaps with a script beside. Beyond, a newcomer gets the place of whoever has gone longest without a request. */
export const MAX_CONTROL_CONNECTIONS = 16
/** All headers of a question together: it has a path and next to none. */
const MAX_CONTROL_HEADER_BYTES = 4 * 1024
/** Headers of a question, in number. */
const MAX_CONTROL_HEADERS = 32
/** Characters of a path, which is a short word. */
const MAX_CONTROL_TARGET_CHARS = 256
/** For a whole question: the other end is on this machine and asks for a name. */
const CONTROL_REQUEST_TIMEOUT_MS = 5_000
/** A connection on which nothing moves, such as that of a terminal which was stopped while it printed. */
const CONTROL_IDLE_TIMEOUT_MS = 30_000

const limits: BoundedHttpLimits = {
  maxConnections: MAX_CONTROL_CONNECTIONS,
  maxHeaders: MAX_CONTROL_HEADERS,
  maxHeaderBytes: MAX_CONTROL_HEADER_BYTES,
  maxTargetChars: MAX_CONTROL_TARGET_CHARS,
  headersTimeoutMs: CONTROL_REQUEST_TIMEOUT_MS,
  requestTimeoutMs: CONTROL_REQUEST_TIMEOUT_MS,
  keepAliveTimeoutMs: CONTROL_REQUEST_TIMEOUT_MS,
  idleTimeoutMs: CONTROL_IDLE_TIMEOUT_MS,
}

/** Each answers a GET of one path with a value that is printed as JSON. */
export type ControlAnswers = Readonly<Record<string, () => unknown>>

/** Each does what a POST below its path asks for by the words there, and answers the same way. An `ExplainedError` is the asker's. */
export type ControlActions = Readonly<Record<string, (words: readonly string[]) => unknown>>

class ControlSocketError extends ExplainedError {
  override readonly name = 'ControlSocketError'
}

/** Throws a `ControlSocketError` if the path of the folder leaves no room for the socket's name. */
export function checkControlPath(folder: string): void {
  checkPath(join(folder, CONTROL_SOCKET_NAME))
}

function checkPath(path: string): string {
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) return path
  throw new ControlSocketError(
    `the path ${path} is longer than the ${MAX_SOCKET_PATH_BYTES} bytes a socket may have; choose a shorter --data-dir`,
  )
}

export class ControlSocket implements Part {
  readonly name = 'control socket'
  readonly #path: string
  readonly #answers: ControlAnswers
  readonly #actions: ControlActions
  readonly #net: SafetyNet

  /** Only one process may use the folder: a socket found there is a leftover and is replaced. */
  constructor(folder: string, net: SafetyNet, answers: ControlAnswers, actions: ControlActions = {}) {
    this.#path = join(folder, CONTROL_SOCKET_NAME)
    this.#answers = answers
    this.#actions = actions
    this.#net = net
  }

  async start(_signal: AbortSignal, fail: (cause: unknown) => void): Promise<RunningPart> {
    const path = checkPath(this.#path)
    rmSync(path, { force: true })
    const server = this.#createServer()
    const drain = new HttpDrain(server)
    await listenAt(server, path)
    chmodSync(path, ownerOnly)
    server.on('error', fail)
    return {
      stop: async (deadline) => {
        await drain.close(deadline)
        rmSync(path, { force: true })
      },
    }
  }

  #createServer(): Server {
    return createBoundedHttp({ limits, net: this.#net, serve: (request, response) => this.#serve(request, response) })
  }

  async #serve({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const respond = this.#responder(method, url)
    if (respond === undefined) return send(response, 404, { message: this.#knownPaths() })
    try {
      send(response, 200, await respond())
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      send(response, error instanceof ExplainedError ? 400 : 500, { message })
    }
  }

  #responder(method: string | undefined, url: string): (() => unknown) | undefined {
    if (method === 'GET') return Object.hasOwn(this.#answers, url) ? this.#answers[url] : undefined
    if (method !== 'POST') return undefined
    const [path, act] = Object.entries(this.#actions).find(([known]) => url.startsWith(`${known}/`)) ?? []
    if (path === undefined || act === undefined) return undefined
    return () => act(url.slice(path.length + 1).split('/'))
  }

  #knownPaths(): string {
    const answers = `this process answers GET on ${Object.keys(this.#answers).join(', ')}`
    const actions = Object.keys(this.#actions)
    return actions.length === 0 ? answers : `${answers}, and POST below ${actions.join(', ')}`
  }
}

function listenAt(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const refused = (cause: Error): void =>
      reject(new ControlSocketError(`cannot make the control socket ${path}: ${cause.message}`, { cause }))
    server.once('error', refused)
    server.listen({ path }, () => {
      server.off('error', refused)
      resolve()
    })
  })
}

function send(response: ServerResponse, status: number, value: unknown): void {
  const body = `${JSON.stringify(value)}\n`
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
