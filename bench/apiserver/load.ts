/** A load driver that costs little itself: plain HTTPS over kept connections, no parsing of answers. */

import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'

export interface Target {
  readonly server: string
  readonly ca: Buffer
  /** The administrator's certificate. */
  readonly cert: Buffer
  readonly key: Buffer
}

export class Load {
  readonly #target: Target
  readonly #agent: Agent

  constructor(target: Target, connections: number) {
    const { ca, cert, key } = target
    this.#target = target
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, ca, cert, key })
  }

  /** Sends one request and reads the answer to its end; resolves with the number of bytes. */
  call(method: string, path: string, body?: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = { accept: 'application/json', 'content-type': 'application/json' }
      const sent = request(this.#target.server + path, { method, agent: this.#agent, headers }, (response) => {
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
        })
        response.on('end', () => {
          const status = response.statusCode ?? 0
          if (status < 300) resolve(bytes)
          else reject(new Error(`${method} ${this.#target.server}${path}: ${status}`))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  /** Opens a watch and calls back for every line. */
  watch(path: string, onLine: () => void): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request(this.#target.server + path, { agent: this.#agent }, (response) => {
        response.on('data', (chunk: Buffer) => {
          for (const byte of chunk) if (byte === 0x0a) onLine()
        })
        resolve(response)
      })
      sent.on('error', reject)
      sent.end()
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Before each measurement, for this part of its time, the server does the same uncounted: compilers and caches warm up. */
const warmUpShare = 0.4

/** Runs `work` from so many clients at once until the time is up; returns how often it ended per second. */
export async function perSecond(
  clients: number,
  milliseconds: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const first = await runFor(milliseconds * warmUpShare, clients, 0, work)
  const startMs = performance.now()
  const next = await runFor(milliseconds, clients, first, work)
  return (next - first) / ((performance.now() - startMs) / 1000)
}

/** Returns the index after the last one that was used. */
async function runFor(
  milliseconds: number,
  clients: number,
  firstIndex: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const endMs = performance.now() + milliseconds
  let index = firstIndex
  const client = async (): Promise<void> => {
    while (performance.now() < endMs) await work(index++)
  }
  await Promise.all(Array.from({ length: clients }, client))
  return index
}

export function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN
}
