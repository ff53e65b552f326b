/**
 * What is known of the API server's tokens: its signing keys and issuer, fetched while it can be reached and kept for when it
 * cannot, and which issuers and audiences it was seen to accept.
 */
import * as v from 'valibot'
import type { VerificationKey } from '../../../identity/service-account/signed-token.ts'
import { inBackground } from '../../../process/background.ts'
import type { Part, RunningPart } from '../../../process/lifecycle.ts'
import { Backoff } from '../../../runtime/backoff.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Kept } from '../kept.ts'
import { KeptState } from '../kept-state.ts'
import { readIssuer, readKeySet } from './key-set.ts'

/** How often keys are fetched; an API server announces a new one for an hour before it signs with it. Shortened by chance. */
export const KEYS_REFRESH_MS = 10 * 60_000
/** A token of an unknown key is no reason to fetch more often than this. */
export const KEYS_MIN_GAP_MS = 30_000
/** A token is no reason to fetch keys more often than this while none are known at all. */
const FIRST_KEYS_GAP_MS = 2_000
/** Of one answer: room for a hundred times what an API server says. */
const MAX_KEY_SET_BYTES = 256 * 1024
/** Issuers that were replaced and still count, and audiences of the API server: a handful. */
const MAX_LEARNT_NAMES = 16
/** Of an issuer or an audience, which are URLs. */
const MAX_LEARNT_NAME_CHARS = 1_024

const JWKS_PATH = '/openid/v1/jwks'
const DISCOVERY_PATH = '/.well-known/openid-configuration'

/**
 * A GET of the API server by somebody who may read these documents: ServiceAccounts may, nodes may not, so the token of kube-proxy
 * is what an edge has. Rejects where there is no answer.
 */
export type FetchDocument = (
  path: string,
  limitBytes: number,
  signal: AbortSignal,
) => Promise<{ readonly status: number; readonly text: string }>

export interface SigningKeysOptions {
  readonly fetch: FetchDocument
  readonly kept: Kept
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
}

const names = v.pipe(
  v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_LEARNT_NAME_CHARS))),
  v.maxLength(MAX_LEARNT_NAMES),
)
const keptSchema = v.object({ issuer: v.string(), keySet: v.unknown(), issuers: names, audiences: names })

export class SigningKeys implements Part {
  readonly name = 'signing-keys'
  readonly #options: SigningKeysOptions
  readonly #kept: KeptState
  readonly #issuers = new Set<string>()
  readonly #audiences = new Set<string>()
  #issuer = ''
  #keySet: unknown
  #keys: readonly VerificationKey[] = []
  #fetchedMs = Number.NEGATIVE_INFINITY
  #wake = (_gapMs: number): void => {}

  constructor(options: SigningKeysOptions) {
    const { kept, clock, logger } = options
    this.#options = options
    this.#kept = new KeptState({
      name: 'signing keys',
      kept,
      restore: (text) => this.#restore(text),
      render: () => JSON.stringify(this.#rendered()),
      patienceMs: 0,
      clock,
      logger,
    })
  }

  /** The same list until the keys change. */
  get keys(): readonly VerificationKey[] {
    return this.#keys
  }

  /** What it signs as now, and what it was seen to accept. Empty before the first answer. */
  isIssuer(issuer: string): boolean {
    return issuer !== '' && (issuer === this.#issuer || this.#issuers.has(issuer))
  }

  /** Without other settings an API server is its own audience. */
  isAudience(audience: string): boolean {
    return this.isIssuer(audience) || this.#audiences.has(audience)
  }

  async start(): Promise<RunningPart> {
    const keeping = await this.#kept.start()
    const fetching = inBackground((signal) => this.#run(signal))
    return {
      stop: async (deadline) => {
        await fetching.stop(deadline)
        await keeping.stop(deadline)
      },
    }
  }

  /** The API server has accepted a token of a key, or of an issuer, that is not known here. */
  unknownAccepted(): void {
    this.#wake(this.#keys.length === 0 ? FIRST_KEYS_GAP_MS : KEYS_MIN_GAP_MS)
  }

  /** The API server is back: what could not be had may be had now. */
  reachable(): void {
    this.#wake(0)
  }

  /** From a token whose signature was checked here, and that the API server has accepted. Whether that was news. */
  learn(issuer: string, audiences: readonly string[]): boolean {
    const grew = [addTo(this.#issuers, issuer), ...audiences.map((audience) => addTo(this.#audiences, audience))]
    const isNew = grew.includes(true)
    if (isNew) this.#kept.changed()
    return isNew
  }

  /** Now, and not only when it is time: for when the API server is back. */
  async refresh(signal: AbortSignal): Promise<void> {
    this.#fetchedMs = this.#options.clock.monotonicMs()
    const issuer = readIssuer(await this.#document(DISCOVERY_PATH, signal))
    const keySet = await this.#document(JWKS_PATH, signal)
    this.#take(issuer, keySet)
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options
    const backoff = new Backoff(random, { firstMs: 5_000, maxMs: KEYS_REFRESH_MS })
    let isFailing = false
    while (!signal.aborted) {
      let waitMs = KEYS_REFRESH_MS * (0.9 + 0.1 * random())
      try {
        await this.refresh(signal)
        backoff.reset()
        isFailing = false
      } catch (error) {
        if (signal.aborted) return
        waitMs = backoff.next(clock.monotonicMs())
        const why = error instanceof Error ? error.message : String(error)
        logger[isFailing ? 'debug' : 'warn'](
          { why, retryInMs: waitMs },
          'the signing keys of the API server were not fetched',
        )
        isFailing = true
      }
      await this.#rest(waitMs, signal)
    }
  }

  /** Until it is time, or somebody needs them sooner, but never at once again. */
  async #rest(waitMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const woken = new AbortController()
    const end = (): void => woken.abort()
    let cancelSoon = (): void => {}
    signal.addEventListener('abort', end, { once: true })
    this.#wake = (gapMs) => {
      cancelSoon()
      cancelSoon = clock.schedule(Math.max(0, this.#fetchedMs + gapMs - clock.monotonicMs()), end)
    }
    await clock.sleep(waitMs, woken.signal).catch(() => {})
    this.#wake = () => {}
    cancelSoon()
    signal.removeEventListener('abort', end)
  }

  async #document(path: string, signal: AbortSignal): Promise<unknown> {
    const { status, text } = await this.#options.fetch(path, MAX_KEY_SET_BYTES, signal)
    if (status !== 200) throw new Error(`the API server answered ${status} to ${path}`)
    if (text.length > MAX_KEY_SET_BYTES) throw new Error(`${path} is longer than ${MAX_KEY_SET_BYTES} bytes`)
    return JSON.parse(text)
  }

  #take(issuer: string, keySet: unknown): void {
    if (issuer.length > MAX_LEARNT_NAME_CHARS) throw new Error('the issuer has a name that is too long')
    const keys = readKeySet(keySet)
    if (issuer === this.#issuer && JSON.stringify(keySet) === JSON.stringify(this.#keySet)) return
    this.#issuer = issuer
    this.#keySet = keySet
    this.#keys = keys
    this.#kept.changed()
  }

  #restore(text: string): void {
    const { issuer, keySet, issuers, audiences } = v.parse(keptSchema, JSON.parse(text))
    const keys = keySet === undefined ? [] : readKeySet(keySet)
    this.#issuer = issuer
    this.#keySet = keySet
    this.#keys = keys
    for (const each of issuers) addTo(this.#issuers, each)
    for (const each of audiences) addTo(this.#audiences, each)
  }

  #rendered() {
    return {
      issuer: this.#issuer,
      keySet: this.#keySet,
      issuers: [...this.#issuers],
      audiences: [...this.#audiences],
    }
  }
}

/** Whether it was not there yet. The one learnt first makes room. */
function addTo(set: Set<string>, name: string): boolean {
  if (name === '' || name.length > MAX_LEARNT_NAME_CHARS || set.has(name)) return false
  set.add(name)
  const [oldest] = set
  if (oldest !== undefined && set.size > MAX_LEARNT_NAMES) set.delete(oldest)
  return true
}
