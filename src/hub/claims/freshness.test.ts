import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type OwnApiServer, startOwnApiServer, UnreliableTransport } from '../../../test/worlds/own-api-server.ts'
import { namespaces } from '../../kube/client/kinds.ts'
import type { ConfigMap } from '../../kube/client/types.ts'
import type { WatchEvent } from '../../kube/objects.ts'
import type { WatchSource } from '../../kube/reflector/reflector.ts'
import { type Clock, ManualClock, systemClock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { ClaimStore } from './claim-store.ts'
import {
  CLAIM_CHECK_TIMEOUT_MS,
  CLAIMS_ANSWER_TIMEOUT_MS,
  CLAIMS_MAX_AGE_MS,
  CLAIMS_WATCH_SECONDS,
  Freshness,
} from './freshness.ts'
import { ProvenSource } from './proven-source.ts'

const namespace = 'claims'
const [node, key] = ['edge-1', 'aa'.repeat(32)]
const certificate = { node, key, notBeforeMs: 0 }
const logger = pino({ level: 'silent' })

let server: OwnApiServer
beforeAll(async () => {
  server = await startOwnApiServer()
  await server
    .client()
    .resource(namespaces)
    .create({ metadata: { name: namespace } })
})
afterAll(() => server.stop())

/** A way to the API server that can swallow everything, both ways, without a word. */
async function quietableWay(): Promise<{ port: number; isQuiet: (quiet: boolean) => void }> {
  const sockets = new Set<Socket>()
  let quiet = false
  const target = new URL(server.connection.server)
  const proxy = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
      from.on('data', (chunk) => to.write(chunk))
      if (quiet) from.pause()
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const isQuiet = (wanted: boolean): void => {
    quiet = wanted
    for (const socket of sockets) {
      if (quiet) socket.pause()
      else socket.resume()
    }
  }
  return { port: (proxy.address() as AddressInfo).port, isQuiet }
}

function storeOf(clock: Clock, port?: number): ClaimStore {
  const connection =
    port === undefined ? server.connection : { ...server.connection, server: `https://127.0.0.1:${port}` }
  const client = server.client(new UnreliableTransport(connection, () => 'pass'))
  return new ClaimStore({ client, namespace, clock, random: systemRandom, logger })
}

/**
 * Lets time pass until something is so. Each step ends what waits for an answer, so every next one comes twice as late:
 * in the end answers are faster, however slow the machine.
 */
async function passUntil(clock: ManualClock, isSo: () => boolean): Promise<void> {
  for (let turns = 100; ; turns *= 2) {
    await clock.advance(CLAIMS_ANSWER_TIMEOUT_MS)
    for (let turn = 0; turn < turns; turn++) {
      if (isSo()) return
      await new Promise(setImmediate)
    }
  }
}

describe('claims behind a way that was cut without a word', () => {
  it('do not let a node in once they are too old, and count again when the way is back', async () => {
    const clock = new ManualClock(Date.now())
    const { port, isQuiet } = await quietableWay()
    const [operator, cutOff] = [storeOf(systemClock), storeOf(clock, port)]
    await operator.byCertificate(certificate)
    const running = await cutOff.start(new AbortController().signal)
    onTestFinished(() => running.stop(AbortSignal.abort()))
    await expect(cutOff.byCertificate(certificate)).resolves.toMatchObject({ current: key })
    isQuiet(true)
    await operator.forget(node)
    expect(cutOff.freshness.isFresh).toBe(true)
    await clock.advance(CLAIMS_MAX_AGE_MS + 1)
    expect(cutOff.freshness.isFresh).toBe(false)
    const refused = expect(cutOff.byCertificate(certificate)).rejects.toMatchObject({ code: 'cluster-unavailable' })
    await clock.advance(CLAIM_CHECK_TIMEOUT_MS)
    await refused
    isQuiet(false)
    await passUntil(clock, () => cutOff.known(node)?.state === 'released' && cutOff.freshness.isFresh)
    await expect(cutOff.byCertificate(certificate)).rejects.toMatchObject({ code: 'certificate-revoked' })
  })
})

/** A watch on which the test says what happens. */
class StagedWatch implements WatchSource<ConfigMap> {
  readonly #events: WatchEvent<ConfigMap>[] = []
  #wake: () => void = () => {}
  isClosed = false

  send(type: 'ADDED' | 'BOOKMARK', annotations: Record<string, string> = {}): void {
    this.#events.push({ type, object: { metadata: { name: 'x', annotations } } })
    this.#wake()
  }

  close(): void {
    this.isClosed = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchEvent<ConfigMap>, void, undefined> {
    while (!this.isClosed) {
      const event = this.#events.shift()
      if (event !== undefined) yield event
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}

describe('the source of claims', () => {
  function staged() {
    const clock = new ManualClock()
    const freshness = new Freshness(clock)
    const watch = new StagedWatch()
    const asked: unknown[] = []
    const maps = {
      list: () => new Promise<never>(() => {}),
      watch: (query: unknown) => {
        asked.push(query)
        return Promise.resolve(watch)
      },
    }
    return { clock, freshness, watch, asked, source: new ProvenSource(maps, clock, freshness) }
  }

  async function drain(watch: WatchSource<ConfigMap>): Promise<void> {
    const events = watch[Symbol.asyncIterator]()
    while ((await events.next()).done !== true);
  }

  it('proves itself by each watch that is answered, and ends one that lasts too long', async () => {
    const { clock, freshness, watch, asked, source } = staged()
    expect(freshness.isFresh).toBe(false)
    const ended = drain(await source.watch({ resourceVersion: '7', timeoutSeconds: 500 }, {}))
    expect(freshness.ageMs).toBe(0)
    expect(asked).toMatchObject([{ timeoutSeconds: CLAIMS_WATCH_SECONDS, resourceVersion: '7' }])
    await clock.advance(CLAIMS_WATCH_SECONDS * 1000 + CLAIMS_ANSWER_TIMEOUT_MS)
    expect(watch.isClosed).toBe(true)
    await ended
  })

  it('proves nothing by a snapshot before it is complete, and then by every event', async () => {
    const { clock, freshness, watch, source } = staged()
    const ended = drain(await source.watch({ sendInitialEvents: true }, {}))
    watch.send('ADDED')
    await clock.advance(60_000)
    expect(freshness.isFresh).toBe(false)
    watch.send('BOOKMARK', { 'k8s.io/initial-events-end': 'true' })
    await clock.advance(3_000)
    expect(freshness.ageMs).toBe(3_000)
    watch.send('ADDED')
    await clock.advance(1_000)
    expect(freshness.ageMs).toBe(1_000)
    expect(watch.isClosed).toBe(true)
    await ended
  })
})
