/** The edges of the bench: each a TLS connection of its own with one join, as real ones are. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRequest } from '../../src/identity/csr.ts'
import { nodeSubject } from '../../src/identity/node-name.ts'
import { percentile } from '../apiserver/load.ts'

export interface DriverTask {
  readonly edges: number
  readonly connections: number
  readonly url: string
  readonly jwt: string
}

export interface DriverReport {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly repeated: number
  readonly failed: number
}

/** Waits for a task, makes the requests, says `ready`, waits for `go`, and reports. */
export async function drive(): Promise<void> {
  const [task] = (await once(process, 'message')) as [DriverTask]
  const bodies = await prepare(task)
  const go = once(process, 'message')
  process.send?.('ready')
  await go
  const report = await run(task, bodies)
  process.send?.(report, () => process.disconnect())
}

async function prepare({ edges }: DriverTask): Promise<string[]> {
  const bodies: string[] = []
  for (let index = 0; index < edges; index++) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))
    bodies.push(await createRequest({ subject: nodeSubject(`edge-${index}`) }, key))
  }
  return bodies
}

async function run(task: DriverTask, bodies: readonly string[]): Promise<DriverReport> {
  const latencies: number[] = []
  let next = 0
  let repeated = 0
  let failed = 0
  const edge = async (): Promise<void> => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const startMs = performance.now()
      let answer = await join(task, body)
      while (answer.retryAfterMs !== undefined) {
        repeated++
        await sleep(answer.retryAfterMs)
        answer = await join(task, body)
      }
      if (answer.status === 200) latencies.push(performance.now() - startMs)
      else failed++
    }
  }
  const startMs = performance.now()
  await Promise.all(Array.from({ length: task.connections }, edge))
  const seconds = (performance.now() - startMs) / 1000
  const p50Ms = percentile(latencies, 0.5)
  return { perSecond: latencies.length / seconds, p50Ms, p99Ms: percentile(latencies, 0.99), repeated, failed }
}

interface Answer {
  readonly status: number
  /** Where the hub asks to come back. */
  readonly retryAfterMs?: number
}

function join({ url, jwt }: DriverTask, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${jwt}`, 'content-length': Buffer.byteLength(body) }
    const options = { method: 'POST', headers, agent: false, rejectUnauthorized: false } as const
    const sent = request(`${url}/edge.crt`, options, (response) => {
      const status = response.statusCode ?? 0
      const seconds = response.headers['retry-after']
      response.resume()
      response.on('end', () =>
        resolve(seconds === undefined ? { status } : { status, retryAfterMs: Number(seconds) * 1000 }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
