/**
 * Faults in the middle of answering. One is armed at a time and strikes the victim's request alone, which says who it is by a
 * header: whatever step it stands for throws, or rejects, where it would have done its work.
 */
import { expect } from 'vitest'
import type { Exchange, ResponseStream } from '../../src/http/server/exchange.ts'
import { Http1Exchange } from '../../src/http/server/http1-exchange.ts'
import { Http2Exchange } from '../../src/http/server/http2-exchange.ts'

export const VICTIM = 'x-victim'

type Method = (this: void, ...given: unknown[]) => unknown

export class Fault extends Error {
  override readonly name = 'Fault'
}

/** What has got past every net since it was made: it would have ended the process. */
export class Escapes {
  readonly errors: unknown[] = []
  readonly #note = (error: unknown): void => void this.errors.push(error)

  constructor() {
    for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, this.#note)
  }

  /** Lets the turns pass in which the runtime tells of such errors. */
  async expectNone(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(this.errors).toEqual([])
  }

  release(): void {
    for (const event of ['uncaughtException', 'unhandledRejection']) process.off(event, this.#note)
  }
}

export class Faults {
  /** The steps that fail; each once, or every time where it ends in `!`. */
  #armed = new Set<string>()
  struck: string[] = []

  arm(...steps: string[]): void {
    this.#armed = new Set(steps)
    this.struck = []
  }

  /** Throws if this is the step, and the request the victim's. */
  strike(step: string, exchange: Exchange): void {
    if (!this.#strikes(step, exchange)) return
    this.struck.push(step)
    throw new Fault(`${step} failed`)
  }

  #strikes(step: string, exchange: Exchange): boolean {
    if (!this.#armed.has(step) && !this.#armed.has(`${step}!`)) return false
    if (!isVictim(exchange)) return false
    return this.#armed.delete(step) || this.#armed.has(`${step}!`)
  }
}

/** Not by `get`, which may be what fails. */
function isVictim({ headers }: Exchange): boolean {
  return [...headers.names()].includes(VICTIM)
}

/** Plants a fault in each thing that can be asked of an exchange, for both versions of HTTP. Returns how to take them away. */
export function plantInExchanges(faults: Faults): () => void {
  const kinds = [Http1Exchange.prototype, Http2Exchange.prototype] as unknown as Exchange[]
  const before = kinds.map((kind) => [kind, Object.getOwnPropertyDescriptors(kind)] as const)
  for (const kind of kinds) {
    plantInCalls(kind, faults)
    for (const name of ['closed', 'started'] as const) {
      const { get } = { ...Object.getOwnPropertyDescriptor(kind, name) } as { get: Method }
      Object.defineProperty(kind, name, {
        configurable: true,
        get(this: Exchange) {
          faults.strike(name, this)
          return Reflect.apply(get, this, []) as unknown
        },
      })
    }
  }
  return () => {
    for (const [kind, properties] of before) Object.defineProperties(kind, properties)
  }
}

function plantInCalls(kind: Exchange, faults: Faults): void {
  const { readBody, respond, stream, abort } = kind as unknown as Readonly<Record<string, Method>>
  const real = (method: Method | undefined, exchange: Exchange, given: unknown[]): unknown =>
    Reflect.apply(method as Method, exchange, given)
  Object.assign(kind, {
    readBody: async function (this: Exchange, ...given: unknown[]) {
      faults.strike('readBody', this)
      return await (real(readBody, this, given) as Promise<Buffer>)
    },
    respond: function (this: Exchange, ...given: unknown[]) {
      faults.strike('respond', this)
      real(respond, this, given)
      faults.strike('after respond', this)
    },
    abort: function (this: Exchange) {
      faults.strike('abort', this)
      real(abort, this, [])
    },
    stream: function (this: Exchange, ...given: unknown[]) {
      faults.strike('stream', this)
      const out = real(stream, this, given) as ResponseStream
      plantInStream(out, this, faults)
      return out
    },
  })
}

function plantInStream(out: ResponseStream, exchange: Exchange, faults: Faults): void {
  const [write, drained, end] = [out.write.bind(out), out.drained.bind(out), out.end.bind(out)]
  out.write = (chunk) => {
    faults.strike('write', exchange)
    return write(chunk)
  }
  out.drained = async () => {
    faults.strike('drained', exchange)
    await drained()
  }
  out.end = (...given: []) => {
    faults.strike('end', exchange)
    end(...given)
  }
}
