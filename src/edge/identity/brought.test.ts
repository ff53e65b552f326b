import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DAY_MS, makeCa } from '../../../test/worlds/edge-hub.ts'
import { FragileDisk } from '../../../test/worlds/fragile-disk.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  type CertificateTemplate,
  issueCertificate,
  validityFromNow,
} from '../../identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import type { CertificatePair } from '../../identity/pair-file.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { BROUGHT_POLL_MS, BroughtKeeper, readBroughtIdentity } from './brought.ts'

const paths = { hubCa: '/a/ca.crt', certificate: '/b/edge.crt', key: '/c/edge.key' }
let clock: ManualClock
let ca: CertificateAuthority
let content: Map<string, Buffer>
/** Reads whatever `content` is at the time; writing is a failure. */
const files = Object.assign(new FragileDisk(new Map(), 'read-only'), {
  read: async (path: string) => content.get(path),
})

beforeAll(async () => {
  ca = await makeCa(new ManualClock())
})
beforeEach(async () => {
  clock = new ManualClock()
  content = new Map([[paths.hubCa, Buffer.from(certificatePem(ca.certificate))]])
  await bring()
})

async function bring(template: Partial<CertificateTemplate> = {}, by = ca): Promise<void> {
  const { publicKey, privateKey } = await generateKeys()
  const right = { subject: nodeSubject('edge-1'), extendedKeyUsages: ['clientAuth'] as const }
  const life = validityFromNow(clock, 10 * DAY_MS)
  const certificate = await issueCertificate(by, { ...right, ...life, ...template }, publicKey)
  content.set(paths.certificate, Buffer.from(certificatePem(certificate)))
  content.set(paths.key, Buffer.from(privateKeyPem(privateKey)))
}

describe('a brought identity', () => {
  it('is named by its certificate', async () => {
    expect((await readBroughtIdentity(paths, clock, files)).node).toBe('edge-1')
  })

  it.each([
    [
      'of a user',
      { subject: userName('admin', ['system:masters']) },
      '/b/edge.crt is about O=system:masters, CN=admin',
    ],
    ['for servers', { extendedKeyUsages: ['serverAuth'] as const }, 'not for clientAuth'],
    [
      'that ended',
      { notBeforeMs: Date.UTC(2026, 0, 1) - 1e6, notAfterMs: Date.UTC(2026, 0, 1) - 1e5 },
      'has expired at',
    ],
  ])('is no certificate %s', async (_what, template, problem) => {
    await bring(template)
    await expect(readBroughtIdentity(paths, clock, files)).rejects.toThrow(problem)
  })

  it('is none of another CA', async () => {
    await bring({}, await makeCa(clock, 'other'))
    await expect(readBroughtIdentity(paths, clock, files)).rejects.toThrow('/b/edge.crt does not fit /a/ca.crt')
  })

  it.each([
    [[paths.hubCa], 'there is no /a/ca.crt'],
    [[paths.certificate], '/c/edge.key exists, but /b/edge.crt does not'],
    [[paths.key], '/b/edge.crt exists, but /c/edge.key does not'],
    [[paths.certificate, paths.key], 'there is neither /b/edge.crt nor /c/edge.key'],
  ])('needs %j', async (missing, problem) => {
    for (const path of missing) content.delete(path)
    await expect(readBroughtIdentity(paths, clock, files)).rejects.toThrow(problem)
  })
})

describe('the keeper of a brought identity', () => {
  async function keep() {
    const rotated: CertificatePair[] = []
    const warnings: string[] = []
    const logger = createLogger({
      level: 'warn',
      format: 'json',
      destination: { write: (line) => warnings.push(line) },
      clock,
    })
    const metrics = { expires: () => {}, rotation: () => {}, goodOffline: () => {} }
    const identity = await readBroughtIdentity(paths, clock, files)
    const onRotated = (pair: CertificatePair): void => void rotated.push(pair)
    const keeper = new BroughtKeeper({ paths, identity, files, clock, logger, metrics, onRotated })
    const running = await keeper.start()
    const stop = async (): Promise<void> => await running.stop(new AbortController().signal)
    return { keeper, rotated, warnings, identity, stop }
  }

  it('takes over new files within the minute, and nothing else', async () => {
    const { keeper, rotated, identity, stop } = await keep()
    await clock.advance(3 * BROUGHT_POLL_MS)
    expect(rotated).toEqual([])
    await bring()
    await clock.advance(BROUGHT_POLL_MS)
    expect(rotated).toEqual([keeper.current()])
    expect(keeper.current().keyPem).not.toBe(identity.pair.keyPem)
    await stop()
    expect(clock.pending).toBe(0)
  })

  it('keeps the last good files while the new ones are bad, warns once, and recovers', async () => {
    const { keeper, rotated, warnings, identity, stop } = await keep()
    await bring({ subject: nodeSubject('edge-2') })
    await clock.advance(5 * BROUGHT_POLL_MS)
    expect(keeper.current()).toBe(identity.pair)
    expect(keeper.health()).toMatchObject({ ok: false, reason: expect.stringContaining('now about node edge-2') })
    expect(warnings).toHaveLength(1)
    await bring()
    await clock.advance(BROUGHT_POLL_MS)
    expect(keeper.health()).toEqual({ ok: true })
    expect(rotated).toHaveLength(1)
    await stop()
  })

  it('follows a change of the CA', async () => {
    const { keeper, stop } = await keep()
    const next = await makeCa(clock, 'next')
    content.set(paths.hubCa, Buffer.from(certificatePem(ca.certificate, next.certificate)))
    await clock.advance(BROUGHT_POLL_MS)
    expect(keeper.hubCa()).toHaveLength(2)
    await stop()
  })

  it('says when the certificate has ended', async () => {
    const { keeper, stop } = await keep()
    await stop()
    await clock.advance(20 * DAY_MS)
    expect(keeper.health()).toMatchObject({ ok: false, reason: expect.stringContaining('replace it and its key') })
  })
})
