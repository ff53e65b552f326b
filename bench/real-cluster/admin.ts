/** The administrator's own requests, by the direct way: what the bench prepares, nothing that is measured. */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import type { ControlPlane } from '../../test/real/control-plane.ts'

const connections = 16

export class Admin {
  readonly #plane: ControlPlane
  readonly #agent: Agent

  constructor(plane: ControlPlane) {
    this.#plane = plane
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, ca: readFileSync(plane.caFile) })
  }

  /** Resolves with the answer's body; everything but a success is an error. */
  async call(method: string, path: string, object?: object): Promise<string> {
    const { status, text } = await this.#send(method, path, object === undefined ? '' : JSON.stringify(object))
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
    return text
  }

  #send(method: string, path: string, body: string): Promise<{ status: number; text: string }> {
    const headers = {
      authorization: `Bearer ${this.#plane.adminToken}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    return new Promise((resolve, reject) => {
      const sent = request(this.#plane.server + path, { method, headers, agent: this.#agent }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
        )
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  async post(path: string, object: object): Promise<void> {
    await this.call('POST', path, object)
  }

  /** All at once would be refused by nobody, but take no less time. */
  async inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
    let next = 0
    const client = async (): Promise<void> => {
      while (next < count) await work(next++)
    }
    await Promise.all(Array.from({ length: connections }, client))
  }

  close(): void {
    this.#agent.destroy()
  }
}
