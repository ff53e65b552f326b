import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CrashStates, DAY_MS, EdgeHub, makeCa } from '../../../test/worlds/edge-hub.ts'
import { type DiskContent, FragileDisk } from '../../../test/worlds/fragile-disk.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { keyFingerprint } from '../../identity/keys.ts'
import type { RunningPart } from '../../process/lifecycle.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { EdgeFiles } from '../identity/edge-files.ts'
import { loadJoinedIdentity } from '../identity/edge-identity.ts'
import { createKeeperMetrics } from '../identity/keeper-metrics.ts'
import { joinHub } from '../join/join.ts'
import { type CertificateKeeper, MAX_KEEPER_WAIT_MS } from './certificate-keeper.ts'
import { createEdgeKeeper, type EdgeKeeper, type EdgeKeeperOptions } from './edge-keeper.ts'
import { NEW_CA_RENEWAL_SPREAD_MS, REJOIN_RECHECK_MS, UNTRUSTED_HUB_TOLERATED_MS } from './rotation-core.ts'

let clock: ManualClock
let hub: EdgeHub
let disk: FragileDisk
let registry: Registry
let lines: string[]
const started: RunningPart[] = []

beforeEach(async () => {
  clock = new ManualClock()
  hub = await EdgeHub.start({ clock })
  disk = new FragileDisk()
  registry = new Registry()
  lines = []
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
  const { keeper } = await createKeeper(on, options)
  started.push(await keeper.start())
  return keeper
}

async function createKeeper(on = disk, options: Partial<EdgeKeeperOptions> = {}): Promise<EdgeKeeper> {
  const files = new EdgeFiles('/d', on)
  const identity = await loadJoinedIdentity(files, clock.nowMs())
  if (identity === undefined) throw new Error('the edge has not joined')
  registry = new Registry()
  const metrics = createKeeperMetrics(registry)
  const destination = { write: (line: string) => void lines.push(line) }
  const logger = createLogger({ level: 'warn', format: 'json', destination, clock })
  return createEdgeKeeper({ identity, files, clock, random: () => 0.5, logger, metrics, ...options })
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

/**
 * As if the machine had slept until the loop's next look: time that passed step by step would run out for every request on
 * the way.
 */
async function sleepUntil(atMs: number): Promise<void> {
  clock.jumpTo(atMs - MAX_KEEPER_WAIT_MS)
  await clock.advance(MAX_KEEPER_WAIT_MS)
}

const goToRotation = async (keeper: CertificateKeeper): Promise<void> => await sleepUntil(keeper.state().rotateAtMs)

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
    await sleepUntil(keeper.state().rotateAtMs - 1)
    await until(() => (keeper.state().presentAtMs ?? 0) > clock.nowMs())
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

  it('finds out that it was forgotten while it ran, says so, and what to type', async () => {
    const keeper = await startKeeper()
    await inPhase(keeper, 'waiting')
    expect(keeper.health().ok).toBe(true)
    hub.forget('edge-1')
    await sleepUntil(keeper.state().presentAtMs ?? 0)
    await inPhase(keeper, 'rejoin-needed')
    expect((keeper.health() as { reason: string }).reason).toMatch(
      /was forgotten at .*causeway token create --node edge-1.*causeway edge join .*--data-dir \/d$/,
    )
    expect(lines.join('')).toContain('was forgotten at')
    expect(lines.join('')).not.toContain('stack')
  })

  it('asks within a minute when the links were turned away', async () => {
    let isDoubted = false
    const keeper = await startKeeper(disk, { isDoubted: () => isDoubted })
    await inPhase(keeper, 'waiting')
    hub.forget('edge-1')
    isDoubted = true
    await clock.advance(MAX_KEEPER_WAIT_MS)
    await inPhase(keeper, 'rejoin-needed')
  })

  it('renews within minutes when the hub signs with another CA', async () => {
    await clock.advance(DAY_MS)
    const before = hub.authority.certificate
    const next = await makeCa(clock, 'causeway-next')
    const { subject, publicKey } = next.certificate
    const cross = await issueCertificate(
      hub.authority,
      { subject, ca: {}, ...validityFromNow(clock, 100 * DAY_MS) },
      publicKey,
    )
    const signedBy = (keeper: CertificateKeeper): string => keeper.current()?.chain[0].issuer[0]?.value ?? ''
    hub.before = ({ path }) => {
      if (path === '/edge.crt') hub.authority = next
      const status = { node: 'edge-1', key: '', certificateEnds: '', crossCertificates: certificatePem(cross) }
      const hubCa = certificatePem(next.certificate, before)
      return path === '/v1/node' ? { status: 200, body: JSON.stringify({ ...status, hubCa }) } : undefined
    }
    const { health, keeper } = await createKeeper()
    started.push(await keeper.start())
    await inPhase(keeper, 'waiting')
    expect(keeper.state().rotateAtMs).toBe(clock.nowMs() + NEW_CA_RENEWAL_SPREAD_MS / 2)
    const old = signedBy(keeper)
    hub.trusted = [before, next.certificate]
    await clock.advance(NEW_CA_RENEWAL_SPREAD_MS / 2)
    await until(() => signedBy(keeper) !== old)
    await inPhase(keeper, 'waiting')
    expect(keeper.state().rotateAtMs).toBeGreaterThan(clock.nowMs() + 5 * DAY_MS)
    expect(health()).toEqual({ ok: true })
  })

  it('is unhealthy with a CA that nobody vouches for, though nothing changes', async () => {
    const stranger = certificatePem((await makeCa(clock, 'evil')).certificate)
    const status = { node: 'edge-1', key: '', certificateEnds: '', hubCa: stranger }
    hub.before = ({ path }) => (path === '/v1/node' ? { status: 200, body: JSON.stringify(status) } : undefined)
    const { health, hubCa, keeper } = await createKeeper()
    started.push(await keeper.start())
    await inPhase(keeper, 'waiting')
    expect(health()).toMatchObject({ ok: false, reason: expect.stringContaining('vouches for CN=evil') as string })
    expect(hubCa()).toHaveLength(1)
  })

  it('is unhealthy, with advice, when no hub has been ours for a while', async () => {
    const other = await EdgeHub.start({ clock })
    const keeper = await startKeeper(disk, { hubs: [other.url] })
    await until(() => keeper.state().failures > 0)
    expect(keeper.health().ok).toBe(true)
    clock.jumpTo(clock.nowMs() + UNTRUSTED_HUB_TOLERATED_MS)
    expect((keeper.health() as { reason: string }).reason).toMatch(
      /no hub can be shown to be ours: .*key id.*causeway edge join/,
    )
    await other.stop()
  })

  it('remembers other addresses once the hub was found there, and not before', async () => {
    const files = new EdgeFiles('/d', disk)
    const nowhere = await startKeeper(disk, { hubs: ['https://127.0.0.1:1'] })
    await until(() => nowhere.state().failures > 0)
    expect((await files.readRecord())?.hubs).toEqual([hub.url])
    await stopAll()
    const moved = hub.url.replace('127.0.0.1', 'localhost')
    const keeper = await startKeeper(disk, { hubs: [moved] })
    await inPhase(keeper, 'waiting')
    expect((await files.readRecord())?.hubs).toEqual([moved])
    expect((await files.readRecord())?.rotation?.atMs).toBe(keeper.state().rotateAtMs)
  })

  it('names the clock when it makes the certificate of the hub look over', async () => {
    const keeper = await startKeeper()
    await inPhase(keeper, 'waiting')
    await sleepUntil(clock.nowMs() + 400 * DAY_MS)
    await until(() => keeper.state().failures > 0)
    const { reason } = keeper.health() as { reason: string }
    expect(reason).toContain(`the clock here says ${new Date(clock.nowMs()).toISOString()}`)
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
    expect(keeper.current()?.chain[0].notAfterMs).toBeGreaterThan(clock.nowMs() + 5 * DAY_MS)
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
