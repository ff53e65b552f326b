/**
 * Every step by which the API server answers a request throws in turn, over both versions of HTTP: the client gets an error or
 * is cut off, the process stands, and nobody else notices.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ApiServer } from '../../src/apiserver/api-server.ts'
import { REPLACEABLE_CONTROLLERS } from '../../src/apiserver/controllers/replaceable.ts'
import type { Delegate } from '../../src/apiserver/delegation/delegate.ts'
import type { Filter, Handler, RequestContext } from '../../src/apiserver/request/handler.ts'
import { MemoryStore } from '../../src/apiserver/storage/memory-store.ts'
import { readMaterial } from '../../src/kube/client/connection.ts'
import { loadKubeconfig } from '../../src/kube/client/kubeconfig.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { HealthChecks } from '../../src/telemetry/health.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { removeFolder } from '../remove-folder.ts'
import { type Asked, type FaultClient, http1Client, http2Client } from './fault-clients.ts'
import { Escapes, Faults, plantInExchanges, VICTIM } from './faults.ts'

const faults = vi.hoisted(() => ({ strike: (_step: string, _exchange: unknown): void => {} }))

/** Before a handler, in it as a promise that is rejected, and when it is done. */
const planted = vi.hoisted(
  () =>
    <T>(name: string, handler: (context: RequestContext) => Promise<T>) =>
    (context: RequestContext): Promise<T> => {
      const { exchange } = context
      faults.strike(`${name} at once`, exchange)
      const answer = async (): Promise<T> => {
        await Promise.resolve()
        faults.strike(`${name} later`, exchange)
        const result = await handler(context)
        faults.strike(`${name} afterwards`, exchange)
        return result
      }
      return answer()
    },
)

const counts = vi.hoisted(() => ({ filters: 0, delegates: 0 }))

vi.mock('../../src/apiserver/request/handler.ts', async (original) => {
  const real = await original<typeof import('../../src/apiserver/request/handler.ts')>()
  const chain = (filters: readonly Filter[], handler: Handler): Handler => {
    counts.filters = filters.length
    const around = filters.map((filter, index) => (next: Handler) => planted(`filter ${index}`, filter(next)))
    return real.chain(around, planted('delegation', handler))
  }
  return { ...real, chain }
})

vi.mock('../../src/apiserver/delegation/delegate.ts', async (original) => {
  const real = await original<typeof import('../../src/apiserver/delegation/delegate.ts')>()
  const delegation = (delegates: readonly Delegate[], last: Handler): Handler => {
    counts.delegates = delegates.length
    return real.delegation(
      delegates.map((delegate, index) => planted(`delegate ${index}`, delegate)),
      planted('the last delegate', last),
    )
  }
  return { ...real, delegation }
})

const list: Asked = { path: '/api/v1/namespaces' }
const watch: Asked = { path: '/api/v1/namespaces?watch=true&timeoutSeconds=1' }
const create: Asked = {
  method: 'POST',
  path: '/api/v1/namespaces?dryRun=All',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ metadata: { generateName: 'fault-' } }),
}
const moments = ['at once', 'later', 'afterwards']

/** As many as there are; a test below fails when this is not the number any more. */
const filterCount = 12
const delegateCount = 5

const steps: [step: string, asked: Asked, armed: string[]][] = [
  ...['respond', 'after respond', 'closed'].map((step): [string, Asked, string[]] => [step, list, [step]]),
  ['started, after the answer', list, ['respond', 'started']],
  ['readBody', create, ['readBody']],
  ...['stream', 'write', 'end'].map((step): [string, Asked, string[]] => [step, watch, [step]]),
  ['every answer', list, ['respond!']],
  ['every answer, and cutting off', list, ['respond!', 'abort!']],
  ['a stream, and cutting off', watch, ['write!', 'abort!']],
  ...Array.from({ length: filterCount }, (_, index) => moments.map((moment) => `filter ${index} ${moment}`))
    .flat()
    .map((step): [string, Asked, string[]] => [step, list, [step]]),
  ...['delegation', 'delegate 0', 'delegate 4']
    .flatMap((name) => moments.map((moment) => `${name} ${moment}`))
    .map((step): [string, Asked, string[]] => [step, list, [step]]),
  ...moments.map((moment): [string, Asked, string[]] => {
    const step = `the last delegate ${moment}`
    return [step, { path: '/nowhere' }, [step]]
  }),
]

describe('the API server stands when a step of answering throws:', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-faults-'))
  const all = new Faults()
  const registry = new Registry()
  const log: { level: string; msg: string; err?: { message?: string } }[] = []
  let escapes: Escapes
  let running: RunningPart
  let clients: FaultClient[]
  let neighbour: FaultClient
  let isWatching = true

  let takeFaultsAway = (): void => {}

  beforeAll(async () => {
    faults.strike = (step, exchange) => all.strike(step, exchange as never)
    takeFaultsAway = plantInExchanges(all)
    escapes = new Escapes()
    const server = new ApiServer({
      dataDir: folder,
      address: { host: '127.0.0.1', port: 0 },
      dnsNames: [],
      ipAddresses: [],
      clock: systemClock,
      logger: createLogger({
        level: 'error',
        format: 'json',
        clock: systemClock,
        destination: { write: (line) => log.push(JSON.parse(line)) },
      }),
      health: new HealthChecks(systemClock),
      registry,
      sharesStore: false,
      skippedControllers: REPLACEABLE_CONTROLLERS,
      openStore: () => Promise.resolve(new MemoryStore(systemClock)),
    })
    running = await server.start(new AbortController().signal, () => {})
    const { tls } = await loadKubeconfig({ file: server.adminKubeconfig })
    if (tls.ca === undefined || tls.clientCertificate === undefined) throw new Error('no credentials')
    const { certificate, key } = tls.clientCertificate
    const secure = {
      port: Number(new URL(server.url).port),
      ca: await readMaterial(tls.ca, 'the CA'),
      cert: await readMaterial(certificate, 'the certificate'),
      key: await readMaterial(key, 'the key'),
    }
    clients = [http1Client(secure), http2Client(secure)]
    neighbour = http2Client(secure)
    const ended = (): void => {
      isWatching = false
    }
    neighbour.ask({ path: '/api/v1/namespaces?watch=true&timeoutSeconds=600' }).then(ended, ended)
  })

  afterAll(async () => {
    for (const client of [...clients, neighbour]) client.close()
    await running.stop(AbortSignal.abort())
    escapes.release()
    takeFaultsAway()
    removeFolder(folder)
  })

  async function caughtErrors(): Promise<number> {
    const { values = [] } = (await registry.getSingleMetric('causeway_caught_errors_total')?.get()) ?? {}
    return values.reduce((sum, { value }) => sum + value, 0)
  }

  it('all filters and delegates are among the steps', () => {
    expect(counts).toEqual({ filters: filterCount, delegates: delegateCount })
  })

  it.each(steps)('%s', async (_name, asked, armed) => {
    for (const client of clients) {
      const [caughtBefore, linesBefore] = [await caughtErrors(), log.length]
      all.arm(...armed)
      const outcome = await client.ask({ ...asked, headers: { ...asked.headers, [VICTIM]: 'yes' } })
      expect(all.struck, client.name).not.toEqual([])
      all.arm()
      // Nobody else notices: neither the others on this connection, nor those on another.
      expect([await client.ask(list), await neighbour.ask(list), isWatching]).toEqual([200, 200, true])
      await escapes.expectNone()
      const told = log.slice(linesBefore).filter(({ err }) => err?.message?.endsWith('failed') === true)
      const caught = (await caughtErrors()) - caughtBefore
      // Answered with an error that the log has in full, or cut off and counted.
      expect(told.length + caught, `${client.name}: ${String(outcome)}`).toBeGreaterThan(0)
      if (outcome === 500) expect(told.length).toBeGreaterThan(0)
    }
  })

  it('the log has what was caught, and no more of it than it should', () => {
    const lines = log.filter(({ msg }) => msg === 'an unexpected error was caught')
    expect(lines.length).toBeGreaterThan(0)
    expect(lines[0]?.err?.message).toMatch(/failed$/)
  })
})
