/**
 * Every step by which the edge endpoint answers a request throws in turn, over both versions of HTTP: the client gets an error or
 * is cut off, the process stands, and nobody else notices.
 */
import { Readable } from 'node:stream'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FilterPlan } from '../../src/edge/filters/filter-plan.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import { SafetyNet } from '../../src/process/safety-net.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { answer, type EndpointWorld, startEndpoint } from '../worlds/endpoint-world.ts'
import { type Asked, type FaultClient, http1Client, http2Client } from './fault-clients.ts'
import { Escapes, Fault, Faults, plantInExchanges, VICTIM } from './faults.ts'

const services: Asked = { path: '/api/v1/services' }
const version: Asked = { path: '/version' }
const post: Asked = { method: 'POST', path: '/api/v1/namespaces', body: '{}' }

const steps: [step: string, asked: Asked, armed: string[]][] = [
  ...['stream', 'write', 'end', 'started'].map((step): [string, Asked, string[]] => [step, version, [step]]),
  ['stream, for a request with a body', post, ['stream']],
  ['every head of an answer', version, ['stream!', 'respond!']],
  ['every head of an answer, and cutting off', version, ['stream!', 'respond!', 'abort!']],
  ['a piece of an answer, and cutting off', version, ['write!', 'abort!']],
  ['the choice of a filter at once', services, ['choose at once']],
  ['the choice of a filter later', services, ['choose later']],
  ['the begin of a filter', services, ['begin']],
  ['a filter at once', services, ['run at once']],
  ['a filter later', services, ['run later']],
  ['the way up at once', version, ['upstream at once']],
  ['the way up later', version, ['upstream later']],
  ['the headers of the answer', version, ['headers']],
  ['the body of the answer, when it is read', version, ['read']],
  ['the trailers of the answer', version, ['trailers']],
]

describe('the endpoint stands when a step of answering throws:', () => {
  const faults = new Faults()
  const registry = new Registry()
  const log: { msg: string; err?: { message?: string } }[] = []
  let armed: readonly string[] = []
  let struck: string[] = []
  let escapes: Escapes
  let world: EndpointWorld
  let clients: FaultClient[]
  let neighbour: FaultClient

  /** Those that are no calls of an exchange: the victim is the one who asks while they are armed. */
  function strike(step: string): void {
    if (!armed.includes(step)) return
    armed = []
    struck.push(step)
    throw new Fault(`${step} failed`)
  }

  const plan = {
    begin: () => {
      strike('begin')
      const run = (body: Readable) => {
        strike('run at once')
        const later = async () => {
          await Promise.resolve()
          strike('run later')
          return { status: 200, body, contentEncoding: '', contentLength: undefined }
        }
        return later()
      }
      return { run }
    },
  } as unknown as FilterPlan

  const choose = (): Promise<FilterPlan | undefined> => {
    strike('choose at once')
    const later = async (): Promise<FilterPlan> => {
      await Promise.resolve()
      strike('choose later')
      return plan
    }
    return later()
  }

  let takeFaultsAway = (): void => {}

  beforeAll(async () => {
    takeFaultsAway = plantInExchanges(faults)
    escapes = new Escapes()
    const destination = { write: (line: string) => log.push(JSON.parse(line)) }
    const logger = createLogger({ level: 'debug', format: 'json', clock: systemClock, destination })
    const net = new SafetyNet({ clock: systemClock, logger, registry })
    world = await startEndpoint({ net, logger, filters: { choose } })
    world.upstream.handle = ({ target }) => {
      strike('upstream at once')
      const body = new Readable({
        read() {
          strike('read')
          this.push(target)
          this.push(null)
        },
      })
      const made = answer(200, [['content-type', 'application/json']], body)
      const given = {
        ...made,
        get headers() {
          strike('headers')
          return made.headers
        },
        trailers: () => {
          strike('trailers')
          return []
        },
      }
      if (!armed.includes('upstream later')) return given
      return Promise.resolve().then(() => {
        strike('upstream later')
        return given
      })
    }
    const tls = { port: world.port(), ca: certificatePem(world.ca.certificate) }
    clients = [http1Client(tls), http2Client(tls)]
    neighbour = http2Client(tls)
  })

  afterAll(async () => {
    for (const client of [...clients, neighbour]) client.close()
    await world.stop()
    escapes.release()
    takeFaultsAway()
  })

  async function caughtErrors(): Promise<number> {
    const { values = [] } = (await registry.getSingleMetric('causeway_caught_errors_total')?.get()) ?? {}
    return values.reduce((sum, { value }) => sum + value, 0)
  }

  it.each(steps)('%s', async (_name, asked, given) => {
    for (const client of clients) {
      const [caughtBefore, linesBefore] = [await caughtErrors(), log.length]
      faults.arm(...given)
      armed = given
      struck = []
      const outcome = await client.ask({ ...asked, headers: { [VICTIM]: 'yes' } })
      expect([...faults.struck, ...struck], client.name).not.toEqual([])
      faults.arm()
      armed = []
      expect([await client.ask(version), await neighbour.ask(version)]).toEqual([200, 200])
      await escapes.expectNone()
      const told = log.slice(linesBefore).filter(({ err }) => err?.message?.includes('failed') === true)
      const caught = (await caughtErrors()) - caughtBefore
      // A body that breaks off above is no defect of ours: its client is cut off, and that is all.
      if (!given.includes('read')) expect(told.length + caught, `${client.name}: ${String(outcome)}`).toBeGreaterThan(0)
    }
  })
})
