import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeCluster, makeCa } from '../../../test/worlds/fake-cluster.ts'
import { loudNet } from '../../../test/worlds/loud-net.ts'
import { settled } from '../../../test/worlds/yamux-drivers.ts'
import { memoryCarriers } from '../../../test/worlds/yamux-wire-carrier.ts'
import type { Certificate } from '../../identity/certificate.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { receiveOpen } from '../../tunnel/incoming.ts'
import { openTarget } from '../../tunnel/outgoing.ts'
import { SessionDriver } from '../../tunnel/session-driver.ts'
import type { TunnelStream } from '../../tunnel/tunnel-stream.ts'
import { Budget } from '../../tunnel/yamux/budget.ts'
import type { Claim, HeldClaim } from '../claims/claim.ts'
import { Refusal } from '../refusal.ts'
import { StreamServer } from '../targets/stream-server.ts'
import { SessionMetrics } from './metrics.ts'
import { type NodeLimits, ROTATED_KEY_GRACE_MS, SESSION_DRAIN_MS } from './session-limits.ts'
import { SessionRegistry } from './session-registry.ts'

const claim: HeldClaim = { state: 'held', node: 'edge-1', current: 'k1', heldSinceMs: 1_000 }

async function world(limits: Partial<NodeLimits> = {}) {
  const clock = new ManualClock()
  const cluster = new FakeCluster(clock, await makeCa(clock))
  const known: { claim: Claim | undefined } = { claim }
  let tell: (node: string, changed: Claim | undefined) => void = () => {}
  cluster.claims.known = () => known.claim
  cluster.claims.onChange = (...given: unknown[]) => {
    tell = given[0] as typeof tell
    return () => {}
  }
  const logger = createLogger({ level: 'info', format: 'json', clock, destination: { write: () => {} } })
  const registers = new Registry()
  const budget = new Budget()
  const metrics = new SessionMetrics(registers, budget)
  const targets = { denial: () => undefined, connect: () => new Promise<never>(() => {}) }
  const streams = new StreamServer({ net: loudNet(), targets, clock, logger })
  const registry = new SessionRegistry({ net: loudNet(), cluster, streams, budget, metrics, clock, logger, limits })
  const running = await registry.start(new AbortController().signal)
  onTestFinished(() => running.stop(AbortSignal.abort()))
  const changed = (next: Claim): void => {
    known.claim = next
    tell('edge-1', next)
  }
  const begin = (key = 'k1', recheck: () => Promise<unknown> = () => Promise.resolve()) => {
    const [near, far] = memoryCarriers()
    const certificate = { notBeforeMs: 0, notAfterMs: clock.nowMs() + 10 * SESSION_DRAIN_MS } as Certificate
    const session = registry.begin({ node: 'edge-1', key, certificate, claim }, far, recheck)
    const incoming: TunnelStream[] = []
    const handler = {
      onStream: (stream: TunnelStream) => void incoming.push(stream.on('error', () => {})),
      onEnd: () => {},
    }
    const edge = new SessionDriver({
      net: loudNet(),
      role: 'client',
      carrier: near,
      clock,
      budget: new Budget(),
      handler,
    })
    return {
      session,
      edge,
      incoming,
      open: () => openTarget(edge, { target: 'kube-apiserver', deadlineMs: SESSION_DRAIN_MS }, clock),
    }
  }
  const ended = async (): Promise<Record<string, number>> => {
    const { values = [] } = (await registers.getSingleMetric('causeway_hub_sessions_ended_total')?.get()) ?? {}
    return Object.fromEntries(values.map(({ labels, value }) => [labels['code' as never], value]))
  }
  /** In steps, so that the pings of both ends pass each other. */
  const pass = async (ms: number): Promise<void> => {
    for (let done = 0; done < ms; done += 5_000) {
      await clock.advance(5_000)
      await settled()
    }
  }
  return { clock, registry, running, registers, changed, begin, ended, pass }
}

describe('the sessions of a node', () => {
  it('are routes, of which the newest that is not going away is the best', async () => {
    const { registry, begin } = await world()
    const [first, second] = [begin(), begin()]
    expect(registry.of('edge-1')).toBe(second.session)
    await settled()
    second.open()
    await settled()
    second.session.drain('closed', SESSION_DRAIN_MS)
    expect(registry.of('edge-1')).toBe(first.session)
    expect(registry.all).toEqual([first.session, second.session])
    first.session.end('closed')
    expect([registry.of('edge-1'), registry.size]).toEqual([undefined, 1])
  })

  it('may have so many streams together, whoever opens them', async () => {
    const { begin } = await world({ maxStreamsPerNode: 2 })
    const [first, second] = [begin(), begin()]
    first.open()
    second.open()
    await settled()
    await expect(first.open().answered).rejects.toMatchObject({
      code: 'overloaded',
      message: 'node edge-1 has as many streams open as it may: 2',
    })
    await expect(first.session.dial({ address: 'a:1', deadlineMs: 1_000 })).rejects.toMatchObject({
      code: 'overloaded',
    })
  })

  it('all end when the hub has stopped', async () => {
    const { registry, running, begin, ended, clock } = await world()
    begin()
    begin()
    await running.stop(AbortSignal.abort())
    await settled()
    expect([registry.all, await ended(), clock.pending]).toEqual([[], { 'hub-stopping': 2 }, 0])
  })
})

describe('a dial into a node', () => {
  it('brings the refusal of the edge', async () => {
    const { begin, clock } = await world()
    const { session, incoming } = begin()
    const dialled = expect(session.dial({ address: '127.0.0.1:22', deadlineMs: 1_000 })).rejects.toMatchObject({
      code: 'denied',
      message: 'not here',
    })
    await settled()
    receiveOpen(incoming[0]!, clock, (open) => open.refuse('denied', 'not here'))
    await dialled
  })

  it('ends at its deadline, when nobody waits, or with its session', async () => {
    const { begin, clock } = await world()
    const { session } = begin()
    const late = expect(session.dial({ address: 'a:1', deadlineMs: 1_000 })).rejects.toMatchObject({ code: 'timeout' })
    await clock.advance(1_000)
    await late
    const wanted = new AbortController()
    const dialled = session.dial({ address: 'a:1', deadlineMs: 1_000, signal: wanted.signal })
    const unwanted = expect(dialled).rejects.toMatchObject({
      code: 'refused',
      message: 'nobody waits for a:1 any more',
    })
    wanted.abort()
    await unwanted
    const signal = AbortSignal.abort()
    await expect(session.dial({ address: 'a:1', deadlineMs: 1_000, signal })).rejects.toMatchObject({ code: 'refused' })
    const lost = expect(session.dial({ address: 'a:1', deadlineMs: 1_000 })).rejects.toMatchObject({ code: 'no-route' })
    session.end('closed')
    await lost
    await expect(session.dial({ address: 'a:1', deadlineMs: 1_000 })).rejects.toMatchObject({ code: 'no-route' })
  })

  it('to an address that cannot be sent is an error like any other', async () => {
    const { begin } = await world()
    const dialled = begin().session.dial({ address: `${'a'.repeat(400)}:1`, deadlineMs: 1_000 })
    await expect(dialled).rejects.toMatchObject({ name: 'OpenError' })
  })
})

describe('a session whose key was rotated', () => {
  it('goes on for a while, then is drained and not cut', async () => {
    const { begin, changed, pass, registry, ended } = await world()
    const { session, open } = begin()
    const { stream } = open()
    await settled()
    changed({ ...claim, current: 'k2' })
    await pass(ROTATED_KEY_GRACE_MS - 5_000)
    expect([registry.of('edge-1'), stream.destroyed]).toEqual([session, false])
    await pass(10_000)
    expect([registry.of('edge-1'), stream.destroyed]).toEqual([undefined, false])
    stream.destroy()
    await settled()
    expect(await ended()).toEqual({ rotated: 1 })
  })

  it('does not outlive the time to drain, whatever its peer says about going away', async () => {
    const { begin, changed, pass, clock, ended } = await world()
    const { session, edge, incoming } = begin()
    const dialled = session.dial({ address: 'a:1', deadlineMs: 1_000 })
    await settled()
    receiveOpen(incoming[0]!, clock, (open) => void open.accept())
    const stream = (await dialled).on('error', () => {})
    edge.goAway(9 * SESSION_DRAIN_MS)
    changed({ ...claim, current: 'k2' })
    await pass(ROTATED_KEY_GRACE_MS + 5_000)
    expect(stream.destroyed).toBe(false)
    await pass(SESSION_DRAIN_MS)
    expect([stream.destroyed, await ended()]).toEqual([true, { rotated: 1 }])
  })

  it('is left alone if it turns out that the news was old', async () => {
    const { begin, changed, pass, registry } = await world()
    const { session } = begin('k2')
    changed(claim)
    await pass(10_000)
    changed({ ...claim, current: 'k2' })
    await pass(ROTATED_KEY_GRACE_MS + 10_000)
    expect(registry.of('edge-1')).toBe(session)
    expect(session.supersededMs).toBeUndefined()
  })
})

describe('a session whose name somebody else holds', () => {
  const taken: HeldClaim = { ...claim, current: 'k9', heldSinceMs: 9_000 }

  it('goes on if the record says that the news was old', async () => {
    const { begin, changed, registry } = await world()
    const { session } = begin('k1', () => Promise.resolve())
    changed(taken)
    await settled()
    expect(registry.of('edge-1')).toBe(session)
  })

  it.each([
    ['the record says so', new Refusal('certificate-revoked', 'replaced')],
    ['the record cannot be read', new Refusal('cluster-unavailable', 'away')],
  ])('ends where %s', async (_, refusal) => {
    const { begin, changed, registry, ended } = await world()
    begin('k1', () => Promise.reject(refusal))
    changed(taken)
    await settled()
    expect([registry.all, await ended()]).toEqual([[], { 'certificate-revoked': 1 }])
  })
})
