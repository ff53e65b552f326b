/**
 * Keeps the token file of kube-proxy fresh: a new token at half the life of the present one, which stays in the file until
 * the new one is on disk. How long the present one lives stands in the token, so nothing else has to be remembered.
 */
import { readFileBounded, writeFileAtomically } from '../../identity/atomic-file.ts'
import { diskOperations, type FileOperations } from '../../identity/file-operations.ts'
import type { Clock } from '../../telemetry/clock.ts'
import { HEALTHY, type Health, unhealthy } from '../../telemetry/health.ts'
import type { Part, RunningPart } from '../../telemetry/lifecycle.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { behindEdgeCertificate } from '../certificates/behind-edge-certificate.ts'
import type { HubClient } from '../hub/hub-client.ts'
import { HubError } from '../hub/hub-error.ts'
import { MAX_KEEPER_WAIT_MS } from '../rotation/certificate-keeper.ts'
import { clockHint } from '../rotation/clock-hint.ts'
import { ROTATION_RETRY_FIRST_MS, ROTATION_RETRY_MAX_MS } from '../rotation/rotation-core.ts'
import {
  halfLifeMs,
  readKubeProxyNamespace,
  readTokenLife,
  refreshAfterReceiptMs,
  type TokenLife,
} from './token-life.ts'
import type { TokenMetrics } from './token-metrics.ts'

/** Far more than a token of any API server; what is larger was put there by mistake. */
export const MAX_TOKEN_FILE_BYTES = 64 * 1024

export interface KubeProxyTokenOptions {
  readonly file: string
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
  readonly ends?: string
  /** Why the last attempt to get one failed. */
  readonly problem?: string
}

export class KubeProxyTokenKeeper implements Part {
  readonly name = 'kube-proxy-token'
  readonly #options: KubeProxyTokenOptions
  readonly #files: FileOperations
  #life: TokenLife | undefined
  #namespace: string | undefined
  #attemptAtMs = 0
  /** In a row. */
  #failures = 0
  #problem: string | undefined

  constructor(options: KubeProxyTokenOptions) {
    this.#options = options
    this.#files = options.files ?? diskOperations
  }

  get status(): KubeProxyTokenStatus {
    return {
      file: this.#options.file,
      ...(this.#life === undefined ? {} : { ends: isoTime(this.#life.expiresAtMs) }),
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
    }
  }

  /** Where the hub keeps the account of kube-proxy, by the token; `undefined` while no token has said so. */
  get namespace(): string | undefined {
    return this.#namespace
  }

  health(): Health {
    if (this.#life === undefined) return unhealthy(this.#problem ?? 'there is no token for kube-proxy yet')
    if (this.#options.clock.nowMs() < this.#life.expiresAtMs) return HEALTHY
    const ended = `the token of kube-proxy has ended at ${isoTime(this.#life.expiresAtMs)}`
    return unhealthy(`${ended}: ${this.#problem ?? 'another is being asked for'}`)
  }

  /** Resolves at once: a token on disk is good without a link. Throws `IdentityError` if the file may not be read. */
  async start(): Promise<RunningPart> {
    const ending = new AbortController()
    await this.#load()
    const running = this.#run(ending.signal)
    return {
      stop: async () => {
        ending.abort(new Error('the edge is stopping'))
        await running
      },
    }
  }

  async #load(): Promise<void> {
    const { file, clock } = this.#options
    const text = await readFileBounded(file, { files: this.#files, maxBytes: MAX_TOKEN_FILE_BYTES })
    const token = text?.toString('latin1').trim() ?? ''
    const life = readTokenLife(token)
    this.#attemptAtMs = life === undefined ? clock.nowMs() : halfLifeMs(life)
    this.#adopt(token, life)
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      const nowMs = clock.nowMs()
      try {
        if (this.#attemptAtMs > nowMs)
          await clock.sleep(Math.min(this.#attemptAtMs - nowMs, MAX_KEEPER_WAIT_MS), signal)
        else await this.#refresh(signal)
      } catch (error) {
        if (!signal.aborted) this.#failed(error)
      }
    }
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const { client, clock, file, metrics, logger } = this.#options
    const { token, expires } = await behindEdgeCertificate(() => client.kubeProxyToken(signal))
    const nowMs = clock.nowMs()
    const life = readTokenLife(token) ?? { issuedAtMs: nowMs, expiresAtMs: endOf(expires) }
    // No newline: not every client trims what it reads.
    await writeFileAtomically(file, token, { files: this.#files })
    this.#adopt(token, life)
    this.#attemptAtMs = refreshAfterReceiptMs(life, nowMs)
    this.#failures = 0
    this.#problem = undefined
    metrics.refresh('ok')
    logger.info({ file, ends: isoTime(life.expiresAtMs) }, 'token of kube-proxy renewed')
  }

  #adopt(token: string, life: TokenLife | undefined): void {
    this.#life = life
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

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
