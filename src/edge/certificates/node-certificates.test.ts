import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import { makeCa } from '../../../test/worlds/edge-hub.ts'
import { SigningHub } from '../../../test/worlds/signing-hub.ts'
import type { CertificateAuthority } from '../../identity/issue.ts'
import type { RunningPart } from '../../process/lifecycle.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { HubError, networkError } from '../hub/hub-error.ts'
import { NodeCertificates, type NodeCertificatesOptions } from './node-certificates.ts'

const epochMs = Date.UTC(2026, 0, 1)
const hourMs = 3_600_000
const addresses = ['127.0.0.1', '169.254.30.10']
let kubernetes: CertificateAuthority
let foreign: CertificateAuthority
beforeAll(async () => {
  const clock = new ManualClock(epochMs)
  kubernetes = await makeCa(clock, 'kubernetes')
  foreign = await makeCa(clock, 'kubelet-signer')
})

let dataDir: string
let clock: ManualClock
let hub: SigningHub
let failures: Error[]
let log: Record<string, unknown>[]
let goodOffline: (number | undefined)[]
let renewed: string[]
const running: RunningPart[] = []

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'causeway-node-'))
  clock = new ManualClock(epochMs)
  hub = new SigningHub(clock, kubernetes)
  failures = []
  log = []
  renewed = []
  goodOffline = []
})
afterEach(async () => {
  await stop()
  expect(clock.pending).toBe(0)
  removeFolder(dataDir)
})

async function stop(): Promise<void> {
  for (const part of running.splice(0)) await part.stop(AbortSignal.abort())
}

async function start(options: Partial<NodeCertificatesOptions> = {}): Promise<NodeCertificates> {
  const destination = { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) }
  const loaded = await NodeCertificates.load({
    node: 'edge-1',
    dataDir,
    client: hub,
    addresses,
    kubernetesCa: [kubernetes.certificate],
    rejoinAdvice: 'join again',
    clock,
    random: () => 0.5,
    logger: createLogger({ level: 'info', format: 'json', clock, destination }),
    metrics: { expires: () => {}, rotation: () => {}, goodOffline: (untilMs) => void goodOffline.push(untilMs) },
    onRenewed: (purpose) => void renewed.push(purpose),
    ...options,
  })
  running.push(await loaded.start(new AbortController().signal, (cause) => failures.push(cause as Error)))
  return loaded
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate)
}

/** Both pairs are there, and nothing is to be done for days. */
async function settled(certificates: NodeCertificates, count = 2): Promise<void> {
  await until(() => hub.signed.length === count && renewed.length === count && certificates.health().ok)
}

/** A first run, to its end. */
async function obtained(options: Partial<NodeCertificatesOptions> = {}): Promise<void> {
  await settled(await start(options))
  await stop()
  hub.signed.length = 0
  renewed.length = 0
  log.length = 0
}

const offline = (): never => {
  throw networkError('refused', 'nobody listens there')
}

describe('the certificates of a node', () => {
  it('are asked for if there are none, and kept in files of which the keys are private', async () => {
    const certificates = await start()
    expect(certificates.serving()).toBeUndefined()
    expect(certificates.health()).toMatchObject({ ok: false })
    await settled(certificates)
    expect(renewed.toSorted()).toEqual(['client', 'serving'])
    expect(certificates.serving()?.chain[0].names.ipAddresses).toEqual(expect.arrayContaining(addresses))
    expect(certificates.client()?.chain[0].extendedKeyUsages).toEqual(['clientAuth'])
    expect(certificates.status).toEqual({
      serving: { ends: new Date(epochMs + 10 * hourMs).toISOString() },
      client: { ends: new Date(epochMs + 10 * hourMs).toISOString() },
      goodOfflineUntil: new Date(epochMs + 10 * hourMs).toISOString(),
    })
    expect([goodOffline[0], goodOffline.at(-1)]).toEqual([undefined, epochMs + 10 * hourMs])
    expect(readFileSync(join(dataDir, 'serving.crt'), 'latin1')).toBe(certificates.serving()?.certificatePem)
    expect(readFileSync(join(dataDir, 'kubelet-client.key'), 'latin1')).toBe(certificates.client()?.keyPem)
    for (const key of ['serving.key', 'kubelet-client.key'])
      expect(statSync(join(dataDir, key)).mode & 0o777).toBe(0o600)
    expect(failures).toEqual([])
  })

  it('are used without a link after a restart, and renewed at the moments drawn before it', async () => {
    await obtained()
    const drawn = JSON.parse(readFileSync(join(dataDir, 'node-certificates.json'), 'utf8')) as Record<string, unknown>
    const { atMs } = drawn['serving'] as { atMs: number }
    expect(drawn['client']).toMatchObject({ atMs })
    hub.before = offline
    const certificates = await start({ random: () => 0.999 })
    expect(certificates.health()).toEqual({ ok: true })
    expect(certificates.serving()).toBeDefined()
    expect(certificates.client()).toBeDefined()
    await clock.advance(atMs - clock.nowMs() - 1)
    expect(certificates.status.serving.problem).toBeUndefined()
    await clock.advance(1)
    await until(() => certificates.status.serving.problem !== undefined)
    expect(certificates.status.serving.problem).toBe('nobody listens there')
    expect(certificates.health()).toEqual({ ok: true })
    hub.before = () => {}
    const replaced = certificates.serving()
    await clock.advance(300_000)
    await settled(certificates)
    expect(certificates.serving()).not.toBe(replaced)
  })

  it('end the edge with a sentence if the hub does not list an address of the endpoint', async () => {
    hub.ipAddresses = ['10.96.0.1', '127.0.0.1']
    await start()
    await until(() => failures.length > 0)
    expect(failures[0]).toMatchObject({
      name: 'EndpointAddressError',
      message:
        'the endpoint is to serve at 169.254.30.10, which the hub does not list for this node; it lists 10.96.0.1, ' +
        '127.0.0.1. Add it to --endpoint-addresses of every hub, or give this edge an --endpoint-address that is listed',
    })
    expect(hub.signed).not.toContain('serving')
    await until(() => log.some(({ code }) => code === 'address-unlisted'))
  })

  it('are replaced at once when the endpoint is to serve elsewhere, and serve until then', async () => {
    await obtained({ addresses: ['127.0.0.1'] })
    hub.ipAddresses = [...hub.ipAddresses, 'fd00::1']
    hub.before = offline
    const certificates = await start({ addresses: ['127.0.0.1', 'fd00:0:0::1'] })
    const before = certificates.serving()
    await until(() => certificates.status.serving.problem !== undefined)
    expect(certificates.serving()).toBe(before)
    expect(before).toBeDefined()
    hub.before = () => {}
    await clock.advance(1000)
    await until(() => renewed.length === 1)
    expect(hub.signed).toEqual(['serving'])
    expect(certificates.serving()?.chain[0].names.ipAddresses).toContain('fd00::1')
  })

  it('end the edge if those on disk lack an address that the hub does not list', async () => {
    await obtained()
    await start({ addresses: [...addresses, '192.0.2.7'] })
    await until(() => failures.length > 0)
    expect(failures[0]?.message).toContain('192.0.2.7')
  })

  it('go on serving when a hub lists an address no more that they have', async () => {
    await obtained()
    hub.ipAddresses = ['127.0.0.1']
    const certificates = await start()
    await clock.advance(9 * hourMs)
    await until(() => certificates.status.serving.problem !== undefined)
    expect(certificates.status.serving.problem).toContain('serve at 169.254.30.10')
    expect(failures).toEqual([])
    expect(certificates.serving()?.chain[0].names.ipAddresses).toContain('169.254.30.10')
    // Past their end, at the next attempt.
    await clock.advance(hourMs + 300_000)
    await until(() => failures.length > 0)
  })

  it('say which CA signed and what to do if pods do not trust it, serve all the same, and mend after a restart', async () => {
    hub.ca = foreign
    const certificates = await start()
    await until(() => renewed.length === 2)
    const health = certificates.health()
    const text =
      /pods refuse the endpoint's certificate: it was signed by CN=kubelet-signer .* trust only CN=kubernetes .*--cluster-signing-kubelet-serving-cert-file/
    expect(health).toEqual({ ok: false, reason: expect.stringMatching(text) })
    expect(certificates.status.podTrustProblem).toMatch(text)
    expect(certificates.serving()).toBeDefined()
    const lines = log.filter(({ msg }) => msg === 'pods do not trust the CA that signed for the endpoint')
    expect(lines).toMatchObject([{ level: 'error', why: expect.stringMatching(text) }])
    await stop()
    hub.ca = kubernetes
    hub.signed.length = 0
    renewed.length = 0
    const mended = await start()
    expect(mended.status.podTrustProblem).toMatch(text)
    await until(() => renewed.length === 1)
    expect(hub.signed).toEqual(['serving'])
    expect(mended.health()).toEqual({ ok: true })
    expect(mended.status.podTrustProblem).toBeUndefined()
  })

  it('are all replaced when the node has joined another cluster', async () => {
    await obtained()
    hub.ca = foreign
    hub.before = offline
    const kubernetesCa = [foreign.certificate]
    const cut = await start({ kubernetesCa })
    await until(() => cut.status.serving.problem !== undefined && cut.status.client.problem !== undefined)
    await stop()
    hub.before = () => {}
    await settled(await start({ kubernetesCa }))
    expect(hub.signed.toSorted()).toEqual(['client', 'serving'])
    await stop()
    hub.signed.length = 0
    await start({ kubernetesCa })
    await clock.advance(hourMs)
    expect(hub.signed).toEqual([])
  })

  it('are asked for again where files are damaged, half or of another node', async () => {
    await obtained()
    rmSync(join(dataDir, 'serving.key'))
    writeFileSync(join(dataDir, 'kubelet-client.crt'), 'nonsense')
    writeFileSync(join(dataDir, 'node-certificates.json'), '{')
    await settled(await start())
    await stop()
    expect(log.filter(({ level }) => level === 'warn')).toHaveLength(2)
    hub.signed.length = 0
    renewed.length = 0
    const other = await start({ node: 'edge-2' })
    expect(other.serving()).toBeUndefined()
    expect(other.client()).toBeUndefined()
    await settled(other)
  })

  it('wait for the certificate of the edge itself, whose keeper says who has to act', async () => {
    const refused = new HubError('refusal', 'certificate-expired', 'it has expired', { retryable: false })
    hub.before = () => {
      throw refused
    }
    const certificates = await start()
    await until(() => certificates.status.serving.problem !== undefined)
    expect(certificates.status.serving.problem).toBe(
      'the hub does not take the certificate of this edge itself: it has expired',
    )
    hub.before = () => {}
    await clock.advance(1000)
    await settled(certificates)
  })

  it('are not used if the cluster signed something else', async () => {
    hub.signedAs = () => 'client'
    const certificates = await start()
    await until(() => certificates.status.serving.problem !== undefined)
    expect(certificates.status.serving.problem).toMatch(
      /cannot be used: .* may be used for clientAuth, not for serverAuth/,
    )
    expect(certificates.serving()).toBeUndefined()
  })
})
