/**
 * Keeps the token file of kube-proxy fresh: a new token at half the life of the present one, which stays in the file until
 * the new one is on disk. How long the present one lives stands in the token, so nothing else has to be remembered.
 */

import { inBackground } from '../../process/background.ts'
import type { Part, RunningPart } from '../../process/lifecycle.ts'
import type { Clock } from '../../runtime/clock.ts'
import { readFileBounded, writeFileAtomically } from '../../runtime/files/atomic-file.ts'
import { diskOperations, type FileOperations } from '../../runtime/files/file-operations.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { HEALTHY, type Health, unhealthy } from '../../telemetry/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { behindEdgeCertificate } from '../certificates/behind-edge-certificate.ts'
import type { HubClient } from '../hub/hub-client.ts'
import { HubError } from '../hub/hub-error.ts'
import { MAX_KEEPER_WAIT_MS } from '../rotation/certificate-keeper.ts'
import { clockHint } from '../rotation/clock-hint.ts'
import { ROTATION_RETRY_FIRST_MS, ROTATION_RETRY_MAX_MS } from '../rotation/rotation-core.ts'
import {
  halfLifeMs,
  MIN_TOKEN_REFRESH_MS,
  readKubeProxyNamespace,
  readTokenLife,
  refreshAfterReceiptMs,
  type TokenLife,
} from './token-life.ts'
import type { TokenMetrics } from './token-metrics.ts'
import { isOfAnotherCluster, tokenSha256, writeTokenOrigin } from './token-origin.ts'

/** Far more than a token of any API server; what is larger was put there by mistake. */
const MAX_TOKEN_FILE_BYTES = 64 * 1024

const refused = 'the API server refuses the token of kube-proxy; another is being asked for'

export interface KubeProxyTokenOptions {
  readonly file: string
  /** Hash of the CA of the cluster that this edge belongs to now; absent: tokens are not told apart by cluster. */
  readonly kubernetesCaSha256?: string
  readonly client: Pick<HubClient, 'kubeProxyToken'>
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: TokenMetrics
  readonly files?: FileOperations
}

export interface KubeProxyTokenStatus {
  readonly file: string
  /** Absent: there is none yet. */
  readonly ends?: string | undefined
  /** Why the last attempt to get one failed, or that the API server refuses the one there is. */
  readonly problem?: string | undefined
}

export class KubeProxyTokenKeeper implements Part {
  readonly name = 'kube-proxy-token'
  readonly #options: KubeProxyTokenOptions
  readonly #files: FileOperations
  #life: TokenLife | undefined
  #namespace: string | undefined
  #attemptAtMs = 0
  /** Attempts that failed in a row. */
  #failures = 0
  #problem: string | undefined
  #token = ''
  #tokenSha256 = ''
  #receivedAtMs = Number.NEGATIVE_INFINITY
  #isRejected = false
  /** Ends the wait for the next attempt. */
  #wake = new AbortController()

  constructor(options: KubeProxyTokenOptions) {
    this.#options = options
    this.#files = options.files ?? diskOperations
  }

  get status(): KubeProxyTokenStatus {
    return {
      file: this.#options.file,
      ends: this.#life === undefined ? undefined : isoTime(this.#life.expiresAtMs),
      problem: this.#problem,
    }
  }

  /** Where the hub keeps the account of kube-proxy, by the token; `undefined` while no token has said so. */
  get namespace(): string | undefined {
    return this.#namespace
  }

  /** The one that is kept, if there is any. */
  get token(): string | undefined {
    return this.#token === '' ? undefined : this.#token
  }

  /** Whether whoever reads the file gets a token that is good for something, as far as it is known here. */
  health(): Health {
    const { file, clock } = this.#options
    if (this.#life === undefined)
      return unhealthy(`there is no token of kube-proxy in ${file}: ${this.#problem ?? 'it is being asked for'}`)
    if (this.#isRejected) return unhealthy(this.#problem ?? refused)
    if (clock.nowMs() < this.#life.expiresAtMs) return HEALTHY
    const ended = `the token of kube-proxy in ${file} has ended at ${isoTime(this.#life.expiresAtMs)}`
    return unhealthy(`${ended}: ${this.#problem ?? 'another is being asked for'}`)
  }

  /**
   * To be called when the API server answers 401 to a token, by its hash. If it is the one that is kept, as after its account
   * was deleted, another is asked for: at once, but never sooner after it came than any token is renewed.
   */
  rejected(hash: string): void {
    if (this.#isRejected || hash !== this.#tokenSha256) return
    const { clock, logger } = this.#options
    this.#isRejected = true
    this.#problem = refused
    const earliestMs = Math.max(clock.nowMs(), this.#receivedAtMs + MIN_TOKEN_REFRESH_MS)
    this.#attemptAtMs = Math.min(this.#attemptAtMs, earliestMs)
    logger.warn({ nextAttempt: isoTime(this.#attemptAtMs) }, refused)
    this.#wake.abort()
  }

  /** Resolves at once: a token on disk is good without a link. Throws `IdentityError` if the file may not be read. */
  async start(): Promise<RunningPart> {
    await this.#load()
    return inBackground((signal) => this.#run(signal))
  }

  async #load(): Promise<void> {
    const { file, clock, kubernetesCaSha256, logger } = this.#options
    const text = await readFileBounded(file, { files: this.#files, maxBytes: MAX_TOKEN_FILE_BYTES })
    const found = text?.toString('latin1').trim() ?? ''
    const isForeign =
      kubernetesCaSha256 !== undefined && (await isOfAnotherCluster(file, found, kubernetesCaSha256, this.#files))
    if (isForeign) logger.info({ file }, 'the token of kube-proxy is of another cluster; asking for one of this')
    const token = isForeign ? '' : found
    const life = readTokenLife(token)
    this.#attemptAtMs = life === undefined ? clock.nowMs() : halfLifeMs(life)
    this.#adopt(token, life)
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      const waitMs = this.#attemptAtMs - clock.nowMs()
      if (waitMs > 0) {
        await this.#wait(waitMs, signal)
        continue
      }
      try {
        await this.#refresh(signal)
      } catch (error) {
        if (!signal.aborted) this.#failed(error)
      }
    }
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController()
    const woken = AbortSignal.any([signal, this.#wake.signal])
    // Whoever ends the wait has said why already.
    await this.#options.clock.sleep(Math.min(ms, MAX_KEEPER_WAIT_MS), woken).catch(() => {})
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const { client, clock, file, kubernetesCaSha256, metrics, logger } = this.#options
    const { token, expires } = await behindEdgeCertificate(() => client.kubeProxyToken(signal))
    const nowMs = clock.nowMs()
    const life = readTokenLife(token) ?? { issuedAtMs: nowMs, expiresAtMs: endOf(expires) }
    // No newline: not every client trims what it reads.
    await writeFileAtomically(file, token, { files: this.#files })
    if (kubernetesCaSha256 !== undefined) await writeTokenOrigin(file, token, kubernetesCaSha256, this.#files)
    this.#adopt(token, life)
    this.#receivedAtMs = nowMs
    this.#attemptAtMs = refreshAfterReceiptMs(life, nowMs)
    this.#failures = 0
    this.#problem = undefined
    metrics.refresh('ok')
    logger.info({ file, ends: isoTime(life.expiresAtMs) }, 'token of kube-proxy renewed')
  }

  #adopt(token: string, life: TokenLife | undefined): void {
    this.#life = life
    this.#token = token
    this.#tokenSha256 = tokenSha256(token)
    this.#isRejected = false
    this.#namespace = readKubeProxyNamespace(token)
    this.#options.metrics.expires(life?.expiresAtMs ?? 0)
  }

  #failed(error: unknown): void {
    const { clock, random, metrics, logger } = this.#options
    const nowMs = clock.nowMs()
    const { retryAfterMs = 0 } = error as Partial<HubError>
    const longestMs = Math.min(ROTATION_RETRY_MAX_MS, ROTATION_RETRY_FIRST_MS * 2 ** Math.min(this.#failures, 20))
    this.#failures += 1
    this.#attemptAtMs = nowMs + Math.max(retryAfterMs, Math.ceil(random() * longestMs))
    this.#problem = `${(error as Error).message}${clockHint(error, nowMs)}`
    metrics.refresh('failed')
    // What the hub or the network says needs no stack of ours; anything else may be a defect.
    const why = error instanceof HubError ? { code: error.code, why: this.#problem } : { err: error }
    logger.warn({ ...why, nextAttempt: isoTime(this.#attemptAtMs) }, 'token of kube-proxy not renewed yet')
  }
}

function endOf(expires: string): number {
  const endMs = Date.parse(expires)
  if (Number.isNaN(endMs)) throw new Error('the hub sent a token of which neither it nor the token says when it ends')
  return endMs
}
