/**
 * Who readers are while the API server is away, put together: the keys that tokens are signed with, which tokens were seen, what
 * time it is at least, and what each of them keeps.
 */

import type { Part } from '../process/lifecycle.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import { identityOf } from './readers/identity.ts'
import type { Kept } from './readers/kept.ts'
import { DeletedPods } from './readers/offline-tokens/deleted-pods.ts'
import { createFetchDocument } from './readers/offline-tokens/fetch-document.ts'
import { OfflineTime } from './readers/offline-tokens/offline-time.ts'
import { OfflineTokens } from './readers/offline-tokens/offline-tokens.ts'
import { RejectedTokens } from './readers/offline-tokens/rejected-tokens.ts'
import { SeenTokens } from './readers/offline-tokens/seen-tokens.ts'
import { SigningKeys } from './readers/offline-tokens/signing-keys.ts'
import type { Foreign, Recognised } from './readers/readers.ts'
import { SteadyTime } from './readers/steady-time.ts'
import type { Upstream } from './upstream/upstream.ts'

/** How long an expired token that was seen here is good for while offline, if nothing else is said. */
const DEFAULT_TOKEN_GRACE_MS = 7 * 86_400_000
/** How long a token that was just accepted may be used to ask for the keys. */
const BORROWED_TOKEN_MS = 30_000
/** How often tokens that their owners have renewed since are forgotten. */
const FORGET_INTERVAL_MS = 3_600_000

export interface ComposeReadersOptions {
  readonly upstream: Upstream
  /** Of a ServiceAccount that may read the keys, where there is one. */
  readonly token: () => string | undefined
  /** A place on disk for each name. */
  readonly state: (name: string) => Kept
  readonly graceMs?: number | undefined
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly logger: Logger
}

export interface OfflineReaders {
  /** In the order in which they start. */
  readonly parts: readonly Part[]
  recognise(token: string): Promise<Recognised | Foreign>
  accepted(token: string): void
  /** By way of this node, for whatever audience. */
  issued(token: string): void
  rejected(token: string): void
  podDeleted(uid: string): void
  isPodDeleted(uid: string): boolean
  /** Whether it has been offline for so long that what could not be asked for anew counts no more. */
  isGraceOver(): boolean
  /** How many keys of the API server are known, by which it signs tokens. */
  readonly signingKeys: { readonly size: number }
  /** The `Date` of an answer of the API server. */
  told(date: string): void
  wentOffline(): void
  wentOnline(): void
}

export function composeReaders(options: ComposeReadersOptions): OfflineReaders {
  const { upstream, token, state, graceMs = DEFAULT_TOKEN_GRACE_MS, clock, random, logger } = options
  const common = { clock, logger }
  const time = new SteadyTime({ kept: state('time'), ...common })
  const offlineTime = new OfflineTime({ kept: state('offline-time'), ...common })
  const seen = new SeenTokens({ kept: state('seen-tokens'), offlineTime, ...common })
  const deletedPods = new DeletedPods({ kept: state('deleted-pods'), ...common })
  const borrowed = new BorrowedToken(clock)
  const fetch = createFetchDocument({ upstream, token: () => token() ?? borrowed.token, clock })
  const keys = new SigningKeys({ fetch, kept: state('signing-keys'), random, ...common })
  const rejected = new RejectedTokens({ kept: state('rejected-tokens'), ...common })
  const tokens = new OfflineTokens({ keys, seen, rejected, deletedPods, time, graceMs })
  const learning = (what: Promise<void>): void => {
    what.catch((error: unknown) => logger.warn({ err: error }, 'what the API server made of a token was not learnt'))
  }
  let onlineSinceMs: number | undefined
  let cancelForget = (): void => {}
  const forgetSometimes = (): void => {
    cancelForget = clock.schedule(FORGET_INTERVAL_MS, () => {
      if (onlineSinceMs !== undefined) seen.forgetRenewed(time.nowMs(), clock.monotonicMs() - onlineSinceMs)
      forgetSometimes()
    })
  }
  return {
    parts: [time, offlineTime, seen, rejected, deletedPods, keys],
    recognise: (text) => recognise(tokens, text, time.nowMs()),
    accepted: (text) => {
      borrowed.lend(text)
      learning(tokens.accepted(text))
    },
    issued: (text) => learning(tokens.issued(text)),
    rejected: (text) => learning(tokens.rejected(text)),
    podDeleted: (uid) => deletedPods.add(uid),
    isPodDeleted: (uid) => deletedPods.has(uid),
    isGraceOver: () => offlineTime.periodMs > graceMs,
    signingKeys: {
      get size() {
        return keys.keys.length
      },
    },
    told: (date) => {
      const dateMs = Date.parse(date)
      if (!Number.isNaN(dateMs)) time.told(dateMs)
    },
    wentOffline: () => {
      onlineSinceMs = undefined
      cancelForget()
      offlineTime.wentOffline()
    },
    wentOnline: () => {
      onlineSinceMs = clock.monotonicMs()
      offlineTime.wentOnline()
      keys.reachable()
      forgetSometimes()
    },
  }
}

/**
 * The keys of tokens may be read by every ServiceAccount, but not by a node. Where this node has no token of its own for that, one
 * that the API server has just accepted from a reader does, for a moment.
 */
class BorrowedToken {
  readonly #clock: Clock
  #token: string | undefined
  #cancel = (): void => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get token(): string | undefined {
    return this.#token
  }

  lend(token: string): void {
    this.#cancel()
    this.#token = token
    this.#cancel = this.#clock.schedule(BORROWED_TOKEN_MS, () => {
      this.#token = undefined
    })
  }
}

async function recognise(tokens: OfflineTokens, text: string, nowMs: number): Promise<Recognised | Foreign> {
  const verdict = await tokens.verify(text, nowMs)
  if (verdict.kind === 'forged' || verdict.kind === 'expired') return { kind: 'rejected', why: verdict.why }
  if (verdict.kind !== 'user') return strangers[verdict.kind]
  const { name: username, uid, groups, extra } = verdict.user
  return { kind: 'known', identity: identityOf({ username, uid, groups, extra }) }
}

const strangers: Readonly<Record<'foreign' | 'unknown-key' | 'busy', Recognised | Foreign>> = {
  foreign: {
    kind: 'foreign',
    why: 'this is no token of a ServiceAccount of this cluster, and only the API server knows others',
  },
  'unknown-key': { kind: 'unknown', why: 'this token is signed with a key that is not known here' },
  busy: { kind: 'unknown', why: 'too many tokens are being checked at the moment' },
}
