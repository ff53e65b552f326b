import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DAY_MS, makeCa } from '../../../test/worlds/edge-hub.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { readRequest } from '../../identity/csr.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { type CertificateAuthority, issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { type CertificatePair, parsePair } from '../../identity/pair-file.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import type { RememberedRotation } from '../identity/edge-record.ts'
import {
  CertificateKeeper,
  type CertificateKeeperOptions,
  MAX_KEEPER_WAIT_MS,
  type PairStore,
} from './certificate-keeper.ts'

const epochMs = Date.UTC(2026, 0, 1)
let ca: CertificateAuthority
beforeAll(async () => {
  ca = await makeCa(new ManualClock(epochMs))
})

let clock: ManualClock
let written: CertificatePair[]
let remembered: RememberedRotation[]
let results: string[]
beforeEach(() => {
  clock = new ManualClock(epochMs)
  written = []
  remembered = []
  results = []
})

async function sign(requestPem: string): Promise<string> {
  const { subject, publicKey } = await readRequest(requestPem)
  return certificatePem(await issueCertificate(ca, { subject, ...validityFromNow(clock, 10 * DAY_MS) }, publicKey))
}

function keeper(options: Partial<CertificateKeeperOptions> = {}): CertificateKeeper {
  return new CertificateKeeper({
    name: 'serving',
    pair: undefined,
    source: { request: sign },
    store: {
      write: async ({ certificatePem, keyPem }) => {
        const pair = parsePair(certificatePem, keyPem, { certificate: 'x.crt', key: 'x.key' })
        written.push(pair)
        return pair
      },
      rememberRotation: async (rotation) => void remembered.push(rotation),
    },
    template: () => ({ subject: userName('serving') }),
    problemOf: () => undefined,
    rejoinAdvice: 'join again',
    clock,
    random: () => 0.5,
    logger: createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock }),
    metrics: {
      expires: () => {},
      rotation: (name, result) => void results.push(`${name} ${result}`),
      goodOffline: () => {},
    },
    ...options,
  })
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate)
}

const deadline = new AbortController().signal

describe('a keeper of any certificate', () => {
  it('gets the first one if there is none, and the next ones in time', async () => {
    const kept = keeper()
    expect(kept.health()).toEqual({ ok: false, reason: 'there is no certificate yet' })
    const running = await kept.start()
    await until(() => kept.state().phase === 'waiting')
    expect(kept.current()).toBe(written[0])
    expect(kept.health()).toEqual({ ok: true })
    await clock.advance(kept.state().rotateAtMs - clock.nowMs())
    await until(() => written.length === 2 && kept.state().phase === 'waiting')
    expect(remembered.map(({ fingerprint }) => fingerprint)).toEqual(written.map(({ chain }) => chain[0].fingerprint))
    expect(results).toEqual(['serving renewed', 'serving renewed'])
    await running.stop(deadline)
    expect(clock.pending).toBe(0)
  })

  it('uses what it holds until the next is on disk, and asks again for the same key', async () => {
    const requests: string[] = []
    let isFull = true
    const store: PairStore = {
      write: async ({ certificatePem, keyPem }) => {
        if (isFull) throw new Error('the disk is full')
        return parsePair(certificatePem, keyPem, { certificate: 'x.crt', key: 'x.key' })
      },
      rememberRotation: async () => {},
    }
    const request = async (pem: string): Promise<string> => {
      requests.push((await readRequest(pem)).publicKey.export({ format: 'pem', type: 'spki' }) as string)
      return await sign(pem)
    }
    const kept = keeper({ source: { request }, store })
    const running = await kept.start()
    await until(() => kept.state().failures === 1)
    expect(kept.current()).toBeUndefined()
    expect(kept.health()).toEqual({ ok: false, reason: 'the disk is full' })
    isFull = false
    await clock.advance(kept.state().attemptAtMs - clock.nowMs())
    await until(() => kept.current() !== undefined)
    expect(new Set(requests).size).toBe(1)
    expect(requests).toHaveLength(2)
    await running.stop(deadline)
  })

  it('notices that the clock was set', async () => {
    const kept = keeper()
    const running = await kept.start()
    await until(() => kept.state().phase === 'waiting')
    clock.jumpTo(epochMs + 9.5 * DAY_MS)
    await clock.advance(MAX_KEEPER_WAIT_MS)
    await until(() => written.length === 2)
    await running.stop(deadline)
  })

  it('ends a request that is under way when it is stopped', async () => {
    const seen: AbortSignal[] = []
    const request = async (_pem: string, signal: AbortSignal): Promise<string> => {
      seen.push(signal)
      return await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    }
    const kept = keeper({ source: { request } })
    const running = await kept.start()
    await until(() => seen.length === 1)
    await running.stop(deadline)
    expect(kept.state().failures).toBe(0)
    expect(results).toEqual([])
  })

  it('goes on although the moment cannot be saved', async () => {
    const store = {
      write: async () => written[0]!,
      rememberRotation: async () => await Promise.reject(new Error('no')),
    }
    const source = keeper()
    const first = await source.start()
    await until(() => source.state().phase === 'waiting')
    await first.stop(deadline)
    const kept = keeper({ pair: written[0], store })
    const running = await kept.start()
    await until(() => kept.state().phase === 'waiting')
    await running.stop(deadline)
  })
})
