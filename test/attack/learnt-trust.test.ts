/**
 * Somebody has stolen the key of the hub's server certificate, not that of its CA, and answers in its place. He must not become
 * the CA of the edges by that, nor make them forget what they trust.
 */
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EdgeFiles } from '../../src/edge/identity/edge-files.ts'
import { loadJoinedIdentity } from '../../src/edge/identity/edge-identity.ts'
import { createKeeperMetrics } from '../../src/edge/identity/keeper-metrics.ts'
import { joinHub } from '../../src/edge/join/join.ts'
import { createEdgeKeeper, type EdgeKeeper } from '../../src/edge/rotation/edge-keeper.ts'
import { type Certificate, certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { type CertificateAuthority, issueCertificate, validityFromNow } from '../../src/identity/issue.ts'
import { generateKeys } from '../../src/identity/keys.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { removeFolder } from '../remove-folder.ts'
import { DAY_MS, EdgeHub, makeCa } from '../worlds/edge-hub.ts'

let clock: ManualClock
let hub: EdgeHub
let folder: string
let running: RunningPart | undefined
let pinned: string

beforeEach(async () => {
  clock = new ManualClock(Date.UTC(2026, 0, 1))
  hub = await EdgeHub.start({ clock })
  folder = mkdtempSync(join(tmpdir(), 'learnt-'))
  const token = { kind: 'text', text: await hub.mint() } as const
  await joinHub({ files: new EdgeFiles(folder), hubs: [hub.url], node: 'edge-1', token, clock, random: () => 0.5 })
  pinned = trustOnDisk()
})
afterEach(async () => {
  await running?.stop(AbortSignal.abort())
  await hub.stop()
  removeFolder(folder)
})

const trustOnDisk = (): string => readFileSync(join(folder, 'ca.crt'), 'utf8')

/** The edge checks in once with a hub that answers so, over a connection with the genuine server certificate. */
async function checkIn(cas: readonly Certificate[], vouchers: readonly Certificate[] = []): Promise<EdgeKeeper> {
  const body = JSON.stringify({
    node: 'edge-1',
    key: '0'.repeat(64),
    certificateEnds: '2027-01-01T00:00:00Z',
    hubCa: certificatePem(...cas),
    crossCertificates: certificatePem(...vouchers),
  })
  hub.before = ({ path }) => (path === '/v1/node' ? { status: 200, body } : undefined)
  const files = new EdgeFiles(folder)
  const identity = await loadJoinedIdentity(files, clock.nowMs())
  if (identity === undefined) throw new Error('the edge has not joined')
  const metrics = createKeeperMetrics(new Registry())
  const edge = createEdgeKeeper({
    identity,
    files,
    clock,
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
    metrics,
  })
  running = await edge.keeper.start()
  while (edge.keeper.state().phase !== 'waiting') await new Promise(setImmediate)
  return edge
}

async function certify(by: CertificateAuthority, of: Certificate): Promise<Certificate> {
  const template = { subject: of.subject, ca: {}, ...validityFromNow(clock, 100 * DAY_MS) }
  return await issueCertificate(by, template, of.publicKey, { ifOutlivesCa: 'cap' })
}

/** A certificate of the hub's CA for a key that the thief has; the issuing code would not sign with it. */
async function thief(): Promise<CertificateAuthority> {
  const { privateKey, publicKey } = await generateKeys()
  const template = { subject: userName('hub'), extendedKeyUsages: ['serverAuth'] as const }
  const life = validityFromNow(clock, 90 * DAY_MS)
  const certificate = await issueCertificate(hub.authority, { ...template, ...life }, publicKey)
  return { certificate: { ...certificate, isCa: true, keyUsages: undefined }, privateKey }
}

describe('the thief of a server key', () => {
  const attacks: [string, (evil: CertificateAuthority) => Promise<[Certificate[], Certificate[]]>][] = [
    ['names a CA of his own', async (evil) => [[evil.certificate], []]],
    ['names his beside the genuine one', async (evil) => [[hub.authority.certificate, evil.certificate], []]],
    ['lets his CA vouch for itself', async (evil) => [[evil.certificate], [await certify(evil, evil.certificate)]]],
    [
      'vouches for it with the server key',
      async (evil) => {
        const by = await thief()
        return [[evil.certificate], [await certify(by, evil.certificate), by.certificate]]
      },
    ],
    [
      'vouches for it with a CA that bears the name of the genuine one',
      async (evil) => [[evil.certificate], [await certify(await makeCa(clock), evil.certificate)]],
    ],
    ['names the server certificate as a CA', async () => [[(await thief()).certificate], []]],
  ]

  it.each(attacks)('%s: the edge trusts whom it trusted, and says what happened', async (_, attack) => {
    const evil = await makeCa(clock, 'causeway-hub-ca-evil')
    const edge = await checkIn(...(await attack(evil)))
    expect(trustOnDisk()).toBe(pinned)
    expect(edge.hubCa().map(({ fingerprint }) => fingerprint)).toEqual([hub.authority.certificate.fingerprint])
    expect(edge.health()).toMatchObject({ ok: false })
  })

  it('cannot make an edge drop the CA that its own certificate is of', async () => {
    const next = await makeCa(clock, 'causeway-next')
    const edge = await checkIn([next.certificate], [await certify(hub.authority, next.certificate)])
    expect(edge.hubCa()).toHaveLength(2)
    expect(await loadJoinedIdentity(new EdgeFiles(folder), clock.nowMs())).toMatchObject({ node: 'edge-1' })
  })

  it('is told apart from the operator, for whose new CA the old one vouches', async () => {
    const next = await makeCa(clock, 'causeway-next')
    const edge = await checkIn(
      [next.certificate, hub.authority.certificate],
      [await certify(hub.authority, next.certificate)],
    )
    expect(trustOnDisk()).toBe(certificatePem(next.certificate, hub.authority.certificate))
    expect(edge.health()).toEqual({ ok: true })
  })
})
