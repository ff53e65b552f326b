/**
 * Keeps one pair of certificate and key fresh for ever: `rotation-core.ts` says when, this file does it.
 *
 * The old pair serves until the new one is on disk; and as long as the new one was not shown to the hub, the old one stays
 * good there, so a crash between any two lines leaves a pair that works. Attempts of one renewal use one key: a request
 * that the hub answers late, after we gave it up and asked again, then cannot name another key than the one we hold.
 */

import type { KeyObject } from 'node:crypto'
import { type Certificate, certificatePem, readCertificates } from '../../identity/certificate.ts'
import { createRequest, type RequestTemplate } from '../../identity/csr.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import { type CertificatePair, parsePair } from '../../identity/pair-file.ts'
import { MAX_CHAIN_LENGTH } from '../../identity/verify.ts'
import { inBackground } from '../../process/background.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { HEALTHY, type Health, unhealthy } from '../../telemetry/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { HubError } from '../hub/hub-error.ts'
import type { RememberedRotation } from '../identity/edge-record.ts'
import type { KeeperMetrics } from '../identity/keeper-metrics.ts'
import { clockHint } from './clock-hint.ts'
import {
  afterFailure,
  afterNewCa,
  afterPresented,
  afterRenewed,
  beginRotation,
  isHubLost,
  nextAction,
  type RotationAction,
  type RotationState,
  toBePresentedAgain,
} from './rotation-core.ts'

/** Timers count no time that a machine slept, and clocks are set; so the date is looked at again at least this often. */
export const MAX_KEEPER_WAIT_MS = 60_000

/** Who issues the certificates. */
export interface CertificateSource {
  /** PEM of the certificate, then of the CAs that come with it. */
  request(requestPem: string, signal: AbortSignal): Promise<string>
}

export interface PairStore {
  /** Returns when the pair is on disk. */
  write(pair: { readonly certificatePem: string; readonly keyPem: string }): Promise<CertificatePair>
  rememberRotation(rotation: RememberedRotation): Promise<void>
}

/** What came of showing a certificate. */
export interface Presentation {
  /** Certificates are signed by another CA by now. */
  readonly isIssuerReplaced: boolean
}

export interface CertificateKeeperOptions {
  /** Names the certificate in logs and metrics, such as `edge`. */
  readonly name: string
  /** As found on disk; if there is none, the first is asked for at once. */
  readonly pair: CertificatePair | undefined
  readonly remembered?: RememberedRotation | undefined
  readonly source: CertificateSource
  readonly store: PairStore
  /** What to ask for. */
  readonly template: (signal: AbortSignal) => RequestTemplate | Promise<RequestTemplate>
  /** Why a certificate that came must not be used, if there is a reason. */
  readonly problemOf: (chain: readonly [Certificate, ...Certificate[]]) => string | undefined
  /** Shows the present certificate to the hub. */
  readonly present?: (signal: AbortSignal) => Promise<Presentation>
  /** Whether somebody else was told that the certificate does not count. */
  readonly isDoubted?: () => boolean
  /** Hands over what runs under the old certificate; awaited before the hub is shown the new one in any other way. */
  readonly onRotated?: ((pair: CertificatePair) => void | Promise<void>) | undefined
  /** What a person has to do when the hub will not have the certificate any more. */
  readonly rejoinAdvice: string
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: KeeperMetrics
}

export class CertificateKeeper implements Part {
  readonly name: string
  readonly #options: CertificateKeeperOptions
  #pair: CertificatePair | undefined
  #state: RotationState
  #nextKey: KeyObject | undefined

  constructor(options: CertificateKeeperOptions) {
    const { name, pair, remembered, clock, random } = options
    this.name = `${name}-certificate`
    this.#options = options
    this.#pair = pair
    this.#state = beginRotation(pair?.chain[0], remembered, clock.nowMs(), random)
  }

  /** The pair to use for every new connection. */
  current(): CertificatePair | undefined {
    return this.#pair
  }

  state(): RotationState {
    return this.#state
  }

  health(): Health {
    if (this.#state.phase === 'rejoin-needed') return unhealthy(this.#state.message ?? this.#options.rejoinAdvice)
    const certificate = this.#pair?.chain[0]
    if (certificate === undefined) return unhealthy(this.#state.message ?? 'there is no certificate yet')
    if (isHubLost(this.#state, this.#options.clock.nowMs())) return unhealthy(this.#lostHub())
    if (this.#options.clock.nowMs() <= certificate.notAfterMs) return HEALTHY
    const ended = new Date(certificate.notAfterMs).toISOString()
    return unhealthy(`the certificate has expired at ${ended}: ${this.#state.message ?? 'it is being renewed'}`)
  }

  /** Why a hub may not be believed any more, with both explanations there are: only a person can tell which one it is. */
  #lostHub(): string {
    const { message = '', untrustedSinceMs = 0 } = this.#state
    return (
      `since ${isoTime(untrustedSinceMs)} no hub can be shown to be ours: ${message}. Either something on the way opens TLS ` +
      `connections, or the CA of the hub was replaced and the old one retired while this edge was away; then ` +
      this.#options.rejoinAdvice
    )
  }

  /** Resolves at once: an edge works offline, and with a certificate that is being renewed. */
  async start(): Promise<RunningPart> {
    this.#announce()
    await this.#remember()
    return inBackground((signal) => this.#run(signal))
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      const nowMs = clock.nowMs()
      const { action, atMs } = nextAction(this.#state, nowMs, this.#options.isDoubted?.())
      try {
        if (atMs > nowMs) await clock.sleep(Math.min(atMs - nowMs, MAX_KEEPER_WAIT_MS), signal)
        else await this.#perform(action, signal)
      } catch (error) {
        if (!signal.aborted) this.#failed(action, error)
      }
    }
  }

  async #perform(action: RotationAction, signal: AbortSignal): Promise<void> {
    if (action === 'renew') await this.#renew(signal)
    else await this.#present(signal)
  }

  async #present(signal: AbortSignal): Promise<void> {
    const { name, clock, random, present, logger } = this.#options
    const shown = await present?.(signal)
    const nowMs = clock.nowMs()
    const wasRefused = this.#state.phase === 'rejoin-needed'
    this.#state = afterPresented(this.#state, nowMs)
    if (shown === undefined) return
    this.#state = toBePresentedAgain(this.#state, nowMs, random)
    logger[wasRefused ? 'info' : 'debug']({ certificate: name }, 'the hub has seen the certificate')
    const certificate = this.#pair?.chain[0]
    if (!shown.isIssuerReplaced || certificate === undefined) return
    this.#state = afterNewCa(this.#state, certificate, nowMs, random)
    const renewal = isoTime(this.#state.rotateAtMs)
    logger.info({ certificate: name, renewal }, 'the hub signs with another CA by now; the certificate is renewed soon')
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { name, clock, random, source, store, template, metrics, logger } = this.#options
    this.#nextKey ??= (await generateKeys()).privateKey
    const answer = await source.request(await createRequest(await template(signal), this.#nextKey), signal)
    const pair = await store.write(this.#checked(answer, this.#nextKey))
    this.#nextKey = undefined
    const isFirst = this.#pair === undefined
    this.#pair = pair
    const [certificate] = pair.chain
    this.#state = afterRenewed(certificate, clock.nowMs(), random)
    metrics.rotation(name, 'renewed')
    logger.info(
      { certificate: name, serial: certificate.serialNumber, ends: isoTime(certificate.notAfterMs) },
      isFirst ? 'certificate received' : 'certificate renewed',
    )
    this.#announce()
    await this.#remember()
    await this.#handOver(pair)
  }

  #checked(answer: string, key: KeyObject): CertificatePair {
    const chain = readCertificates(answer, 'the certificate received', MAX_CHAIN_LENGTH)
    const problem = this.#options.problemOf(chain)
    if (problem !== undefined) throw new Error(`the certificate received cannot be used: ${problem}`)
    const paths = { certificate: 'the certificate received', key: 'our key' }
    return parsePair(certificatePem(...chain), privateKeyPem(key), paths)
  }

  async #handOver(pair: CertificatePair): Promise<void> {
    try {
      await this.#options.onRotated?.(pair)
    } catch (error) {
      this.#options.logger.warn(
        { certificate: this.#options.name, err: error },
        'hand-over to the new certificate failed',
      )
    }
  }

  #failed(action: RotationAction, error: unknown): void {
    const { name, clock, random, rejoinAdvice, metrics, logger } = this.#options
    const { code = '', message: said = String(error), retryAfterMs } = error as Partial<HubError>
    const message = said + clockHint(error, clock.nowMs())
    const failure = { code: error instanceof HubError ? code : '', message, retryAfterMs }
    const state = afterFailure(this.#state, action, failure, clock.nowMs(), random)
    const isFinal = state.phase === 'rejoin-needed'
    this.#state = isFinal ? { ...state, message: `${message}; ${rejoinAdvice}` } : state
    if (action === 'renew') metrics.rotation(name, isFinal ? 'refused' : 'failed')
    // What the hub or the network says needs no stack of ours; anything else may be a defect.
    const why = error instanceof HubError ? { code, why: message } : { err: error }
    const fields = { certificate: name, action, ...why, nextAttempt: isoTime(state.attemptAtMs) }
    if (isFinal) logger.error({ ...fields, advice: rejoinAdvice }, 'the hub does not accept the certificate any more')
    else logger.warn(fields, 'certificate not renewed or shown yet')
  }

  #announce(): void {
    const certificate = this.#pair?.chain[0]
    if (certificate !== undefined) this.#options.metrics.expires(this.#options.name, certificate.notAfterMs)
  }

  /** Forgetting the moment costs a new draw at the next start, nothing more. */
  async #remember(): Promise<void> {
    const certificate = this.#pair?.chain[0]
    const { rotateAtMs: atMs } = this.#state
    const { fingerprint, atMs: rememberedMs } = this.#options.remembered ?? {}
    if (certificate === undefined || (fingerprint === certificate.fingerprint && rememberedMs === atMs)) return
    try {
      await this.#options.store.rememberRotation({ fingerprint: certificate.fingerprint, atMs })
    } catch (error) {
      this.#options.logger.warn({ certificate: this.#options.name, err: error }, 'moment of rotation not saved')
    }
  }
}
