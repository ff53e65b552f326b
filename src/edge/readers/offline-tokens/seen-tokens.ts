/**
 * Tokens that the API server has accepted or issued under the eyes of this endpoint, by their hashes: only these may be good
 * for a while after their end, because only of these it is known that somebody really had them while they counted.
 */
import { hash as digest } from 'node:crypto'
import * as v from 'valibot'
import type { Part, RunningPart } from '../../../process/lifecycle.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Kept } from '../kept.ts'
import { KeptState } from '../kept-state.ts'
import type { OfflineTime } from './offline-time.ts'

/** Several for each pod a node may have; beyond, the one seen longest ago is forgotten. */
export const MAX_SEEN_TOKENS = 4_096
/** How long tokens that were seen wait to be written, together with those that come meanwhile. */
const SEEN_TOKENS_KEEP_MS = 5_000
/** Whoever has been online this long after the end of its token has had the time to get another: kubelets try every minute or two. */
export const RENEWAL_TIME_MS = 60 * 60 * 1000

interface SeenToken {
  readonly expiresMs: number
  /** How much time offline there had been when it ended, once that was noticed. */
  readonly offlineAtEndMs: number | undefined
}

const tokenHash = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{43}$/))
const keptSchema = v.pipe(
  v.array(v.tuple([tokenHash, v.number(), v.nullable(v.number())])),
  v.maxLength(MAX_SEEN_TOKENS),
)

export interface SeenTokensOptions {
  readonly kept: Kept
  readonly offlineTime: Pick<OfflineTime, 'totalMs' | 'periodMs'>
  readonly clock: Clock
  readonly logger: Logger
}

export function hashToken(token: string): string {
  return digest('sha256', token, 'base64url')
}

export class SeenTokens implements Part {
  readonly name = 'seen-tokens'
  readonly #offlineTime: SeenTokensOptions['offlineTime']
  readonly #kept: KeptState
  /** Those seen last stand last. */
  readonly #tokens = new Map<string, SeenToken>()

  constructor({ kept, offlineTime, clock, logger }: SeenTokensOptions) {
    this.#offlineTime = offlineTime
    this.#kept = new KeptState({
      name: 'seen tokens',
      kept,
      restore: (text) => this.#restore(text),
      render: () =>
        JSON.stringify([...this.#tokens].map(([hash, seen]) => [hash, seen.expiresMs, seen.offlineAtEndMs])),
      patienceMs: SEEN_TOKENS_KEEP_MS,
      clock,
      logger,
    })
  }

  get size(): number {
    return this.#tokens.size
  }

  start(): Promise<RunningPart> {
    return this.#kept.start()
  }

  has(hash: string): boolean {
    return this.#tokens.has(hash)
  }

  add(hash: string, expiresMs: number): void {
    const isNew = !this.#tokens.delete(hash)
    this.#tokens.set(hash, { expiresMs, offlineAtEndMs: undefined })
    const [oldest] = this.#tokens.keys()
    if (oldest !== undefined && this.#tokens.size > MAX_SEEN_TOKENS) this.#tokens.delete(oldest)
    if (isNew) this.#kept.changed()
  }

  /** The API server did not take it: whatever was seen of it before does not count any more. */
  forget(hash: string): void {
    if (this.#tokens.delete(hash)) this.#kept.changed()
  }

  /**
   * How much of its grace a token has used up that ended before `nowMs`; `undefined` for one that was not seen. A clock that jumps
   * uses up nothing, since only time that has really passed is counted.
   */
  graceUsedMs(hash: string, nowMs: number): number | undefined {
    const seen = this.#tokens.get(hash)
    if (seen === undefined) return undefined
    const { totalMs, periodMs } = this.#offlineTime
    if (seen.offlineAtEndMs !== undefined) return Math.max(0, totalMs - seen.offlineAtEndMs)
    const usedMs = Math.min(periodMs, Math.max(0, nowMs - seen.expiresMs))
    this.#tokens.set(hash, { ...seen, offlineAtEndMs: totalMs - usedMs })
    this.#kept.changed()
    return usedMs
  }

  /** To be called now and then while online, with for how long it has been. */
  forgetRenewed(nowMs: number, onlineForMs: number): void {
    if (onlineForMs <= RENEWAL_TIME_MS) return
    for (const [hash, { expiresMs }] of this.#tokens) if (nowMs - expiresMs > RENEWAL_TIME_MS) this.forget(hash)
  }

  #restore(text: string): void {
    for (const [hash, expiresMs, offlineAtEndMs] of v.parse(keptSchema, JSON.parse(text)))
      this.#tokens.set(hash, { expiresMs, offlineAtEndMs: offlineAtEndMs ?? undefined })
  }
}
