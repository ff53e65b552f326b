import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CrashStates, DAY_MS, EdgeHub } from '../../../test/contract/edge-hub.ts'
import { type DiskContent, FragileDisk } from '../../../test/contract/fragile-disk.ts'
import { keyFingerprint } from '../../identity/keys.ts'
import { ManualClock } from '../../telemetry/clock.ts'
import type { RunningPart } from '../../telemetry/lifecycle.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { EdgeFiles } from '../identity/edge-files.ts'
import { loadJoinedIdentity } from '../identity/edge-identity.ts'
import { joinHub } from '../join/join.ts'
import type { CertificateKeeper } from './certificate-keeper.ts'
import { createEdgeKeeper, type EdgeKeeperOptions } from './edge-keeper.ts'
import { createKeeperMetrics } from './keeper-metrics.ts'
import { REJOIN_RECHECK_MS } from './rotation-core.ts'

let clock: ManualClock
let hub: EdgeHub
let disk: FragileDisk
let registry: Registry
const started: RunningPart[] = []

beforeEach(async () => {
  clock = new ManualClock()
  hub = await EdgeHub.start({ clock })
  disk = new FragileDisk()
  registry = new Registry()
  const token = { kind: 'text', text: await hub.mint() } as const
  await joinHub({ files: new EdgeFiles('/d', disk), hubs: [hub.url], node: 'edge-1', token, clock, random: () => 0.5 })
})
afterEach(async () => {
  await stopAll()
  expect(clock.pending).toBe(0)
  await hub.stop()
})

async function stopAll(): Promise<void> {
  for (const part of started.splice(0)) await part.stop(new AbortController().signal)
}

async function startKeeper(on = disk, options: Partial<EdgeKeeperOptions> = {}): Promise<CertificateKeeper> {
  const files = new EdgeFiles('/d', on)
  const identity = await loadJoinedIdentity(files, clock.nowMs())
  if (identity === undefined) throw new Error('the edge has not joined')
  registry = new Registry()
  const metrics = createKeeperMetrics(registry)
  const logger = createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock })
  const { keeper } = createEdgeKeeper({ identity, files, clock, random: () => 0.5, logger, metrics, ...options })
  started.push(await keeper.start())
  return keeper
}

/** Lets sockets and promises take their turns until something is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate)
}

const inPhase = async (keeper: CertificateKeeper, phase: string): Promise<void> =>
  await until(() => keeper.state().phase === phase)

function holder(): string | undefined {
  const claim = hub.claims.get('edge-1')
  return claim?.state === 'held' ? claim.current : undefined
}

const keyOf = (keeper: CertificateKeeper): string => keyFingerprint(keeper.current()!.privateKey)

/** To the moment drawn, which the loop notices within one of its waits. */
async function goToRotation(keeper: CertificateKeeper): Promise<void> {
  await clock.advance(keeper.state().rotateAtMs - clock.nowMs())
}

async function rotations(): Promise<Record<string, number>> {
  const metric = await registry.getSingleMetric('causeway_edge_rotations_total')?.get()
  return Object.fromEntries(metric?.values.map(({ labels, value }) => [String(labels['result']), value]) ?? [])
}

describe('the keeper of the edge certificate', () => {
  it('shows it at the start and renews it at the moment drawn when joining', async () => {
    const keeper = await startKeeper()
    const first = keeper.current()
    await inPhase(keeper, 'waiting')
    expect(hub.log.at(-1)).toBe('GET /v1/node')
    await clock.advance(keeper.state().rotateAtMs - clock.nowMs() - 1)
    expect(keeper.current()).toBe(first)
    await clock.advance(1)
    await until(() => keeper.current() !== first)
    await inPhase(keeper, 'waiting')
    expect(hub.log.slice(-2)).toEqual(['POST /edge.crt', 'GET /v1/node'])
    expect(holder()).toBe(keyOf(keeper))
    expect(keeper.current()?.keyPem).not.toBe(first?.keyPem)
    expect(await rotations()).toEqual({ renewed: 1 })
    const expiry = await registry.getSingleMetric('causeway_edge_certificate_expiry_timestamp_seconds')?.get()
    expect(expiry?.values[0]?.value).toBe(keeper.current()!.chain[0].notAfterMs / 1000)
  })

  it('remembers the moment across restarts, whatever the dice say', async () => {
    const first = await startKeeper()
    await inPhase(first, 'waiting')
    await goToRotation(first)
    await until(() => first.state().phase === 'waiting' && first.state().rotateAtMs > clock.nowMs())
    await stopAll()
    const second = await startKeeper(disk, { random: () => 0.1 })
    expect(second.state().rotateAtMs).toBe(first.state().rotateAtMs)
  })

  it('hands over before it shows the new certificate, and a failed hand-over stops nothing', async () => {
    const order: string[] = []
    hub.before = ({ method, path }) => void order.push(`${method} ${path}`)
    const onRotated = async () => {
      order.push('hand over')
      throw new Error('no session')
    }
    const keeper = await startKeeper(disk, { onRotated })
    await inPhase(keeper, 'waiting')
    await goToRotation(keeper)
    await until(() => keeper.state().phase === 'waiting' && order.length > 3)
    expect(order).toEqual(['GET /v1/node', 'POST /edge.crt', 'hand over', 'GET /v1/node'])
  })

  it('asks again with the same key when an answer is lost', async () => {
    const keeper = await startKeeper()
    await inPhase(keeper, 'waiting')
    const old = keyOf(keeper)
    let losses = 2
    const wanted = new Set<string | undefined>()
    hub.after = ({ path }) => {
      const claim = hub.claims.get('edge-1')
      if (path === '/edge.crt') wanted.add(claim?.state === 'held' ? claim.next : undefined)
      return path === '/edge.crt' && losses-- > 0 ? 'lose' : 'send'
    }
    await goToRotation(keeper)
    for (const failures of [1, 2]) {
      await until(() => keeper.state().failures === failures)
      expect(keyOf(keeper)).toBe(old)
      expect(holder()).toBe(old)
      await clock.advance(keeper.state().attemptAtMs - clock.nowMs())
    }
    await inPhase(keeper, 'waiting')
    expect([...wanted]).toEqual([keyOf(keeper)])
    expect(await rotations()).toEqual({ failed: 2, renewed: 1 })
  })

  it('renews a certificate that ended while the edge was away, within the grace of the hub', async () => {
    await clock.advance(33 * DAY_MS)
    const keeper = await startKeeper()
    expect(keeper.health().ok).toBe(false)
    await inPhase(keeper, 'waiting')
    expect(keeper.health()).toEqual({ ok: true })
    expect(holder()).toBe(keyOf(keeper))
  })

  it('says how to join again past the grace, and looks again now and then', async () => {
    await clock.advance(60 * DAY_MS)
    const keeper = await startKeeper()
    await inPhase(keeper, 'rejoin-needed')
    const health = keeper.health()
    expect(health).toMatchObject({ ok: false })
    expect((health as { reason: string }).reason).toMatch(/has expired at .*causeway token create --node edge-1/)
    expect((health as { reason: string }).reason).toContain(`causeway edge join --hub ${hub.url} --token-file`)
    expect(await rotations()).toEqual({ refused: 1 })
    hub.graceMs = 90 * DAY_MS
    await clock.advance(REJOIN_RECHECK_MS)
    await inPhase(keeper, 'waiting')
    expect(keeper.health().ok).toBe(true)
  })

  it('asks for a new join after it was forgotten', async () => {
    await clock.advance(DAY_MS)
    hub.forget('edge-1')
    const keeper = await startKeeper()
    await inPhase(keeper, 'rejoin-needed')
    expect((keeper.health() as { reason: string }).reason).toContain('was forgotten at')
  })

  it('keeps trying while no hub is there, and stays healthy as long as the certificate lives', async () => {
    await hub.stop()
    const keeper = await startKeeper()
    await until(() => keeper.state().failures > 0)
    expect(keeper.state().phase).toBe('presenting')
    expect(keeper.health().ok).toBe(true)
  })

  it('does not use a certificate that is not signed by the pinned CA, or about another node', async () => {
    const keeper = await startKeeper()
    await inPhase(keeper, 'waiting')
    const first = keeper.current()
    const other = await EdgeHub.start({ clock })
    hub.before = ({ path }) => (path === '/edge.crt' ? { status: 200, body: other.caPem } : undefined)
    await goToRotation(keeper)
    await until(() => keeper.state().failures > 0)
    expect(keeper.state().message).toContain('cannot be used')
    expect(keeper.current()).toBe(first)
    await other.stop()
  })
})

describe('a rotation that loses power between any two operations on the disk', () => {
  /** A machine that comes up again must be known to the hub, and be the only one that is. */
  async function recover(survivor: DiskContent): Promise<void> {
    const keeper = await startKeeper(new FragileDisk(survivor))
    await inPhase(keeper, 'waiting')
    await until(() => keeper.state().rotateAtMs > clock.nowMs())
    expect(holder()).toBe(keyOf(keeper))
    expect(keeper.current()?.chain[0].notAfterMs).toBeGreaterThan(clock.nowMs() + 10 * DAY_MS)
    await stopAll()
  }

  it('leaves one pair that works, under the same name', async () => {
    const identity = await loadJoinedIdentity(new EdgeFiles('/d', disk), clock.nowMs())
    await clock.advance(identity!.record.rotation!.atMs - clock.nowMs())
    const start = disk.content()
    const crashes = new CrashStates()
    const rotating = new FragileDisk(start)
    rotating.beforeOperation = () => crashes.note(rotating, hub)
    await inPhase(await startKeeper(rotating), 'waiting')
    await stopAll()
    crashes.note(rotating, hub)
    expect(crashes.states.size).toBeGreaterThan(6)
    for (const { survivor, claims } of crashes.states.values()) {
      hub.claims = new Map(claims)
      await recover(survivor)
    }
  })
})
