/**
 * One of several connections that may be tried for an open: how long it may take, and what its failure means to whoever asked.
 * Which addresses are tried, and what is said when none answers, is for each end of the tunnel to decide.
 */
import type { Socket } from 'node:net'
import type { Network } from '../network/tcp.ts'
import { type Patience, within } from './carriers/deadline.ts'
import type { RefusalCode } from './prelude/answer.ts'

/** Addresses of one name that are tried: whoever has more has enough of them. */
export const MAX_ADDRESSES_PER_NAME = 8

/** For one address while others are left to try: a connection over the slowest healthy link takes a third of it. */
export const MAX_CONNECT_ATTEMPT_MS = 5_000

/**
 * What the first of `left` attempts may take: all that is there for the last one, so that one address that swallows packets
 * does not cost the others their chance.
 */
export function shareOfTime(remainingMs: number, left: number): number {
  const limitMs = Math.max(0, remainingMs)
  return left <= 1 ? limitMs : Math.min(MAX_CONNECT_ATTEMPT_MS, limitMs / left)
}

export interface AddressAttempt extends Patience {
  readonly network: Network
  readonly ip: string
  readonly port: number
  readonly limitMs: number
}

/** Rejects with what the system says, with `ETIMEDOUT` where it says nothing in time, or with the reason of the signal. */
export function dialAddress({ network, ip, port, limitMs, clock, signal }: AddressAttempt): Promise<Socket> {
  const late = (): Error =>
    Object.assign(new Error(`no answer within ${Math.round(limitMs)} ms`), { code: 'ETIMEDOUT' })
  return within({ clock, signal }, limitMs, late, (until) => network.connect(ip, port, until))
}

/** Where this machine has no socket left nobody was asked, and somebody else may still find a way. */
const refusalOfSystemError: Readonly<Record<string, RefusalCode>> = {
  ETIMEDOUT: 'timeout',
  EHOSTUNREACH: 'no-route',
  ENETUNREACH: 'no-route',
  EMFILE: 'overloaded',
  ENFILE: 'overloaded',
  ENOBUFS: 'overloaded',
  EADDRNOTAVAIL: 'overloaded',
}

export function refusalOf(error: unknown): RefusalCode {
  return refusalOfSystemError[(error as NodeJS.ErrnoException).code ?? ''] ?? 'refused'
}
