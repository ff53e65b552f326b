/** From an allowed destination to a connection: every name resolved here, every address checked once more, within one time limit. */
import type { Socket } from 'node:net'
import type { Clock } from '../../telemetry/clock.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import { canonicalIp, type DestinationAddress } from './destination-address.ts'
import type { DestinationNetwork } from './destination-network.ts'
import type { DestinationDecision } from './destination-policy.ts'

/** What is on this node, or near it, answers sooner; a hub may wait less, never longer. */
export const MAX_DESTINATION_DIAL_MS = 30_000
/** Addresses of one name that are tried; whoever has more has a balancer. */
export const MAX_ADDRESSES_TRIED = 8

type Allowed = Exclude<DestinationDecision, { readonly kind: 'denied' }>

export interface DialRequest {
  readonly allowed: Allowed
  readonly deadlineMs: number | undefined
  /** Aborts when the opener has gone. */
  readonly signal: AbortSignal
}

export class DestinationDialer {
  readonly #network: DestinationNetwork
  readonly #clock: Clock

  constructor(network: DestinationNetwork, clock: Clock) {
    this.#network = network
    this.#clock = clock
  }

  /** Rejects with an `OpenError`, or with the signal's reason. */
  async dial({ allowed, deadlineMs, signal }: DialRequest): Promise<Socket> {
    const limitMs = Math.min(deadlineMs ?? MAX_DESTINATION_DIAL_MS, MAX_DESTINATION_DIAL_MS)
    const limit = new AbortController()
    const what = allowed.candidates.map(({ host }) => host).join(', ')
    const cancel = this.#clock.schedule(limitMs, () =>
      limit.abort(new OpenError('timeout', `no connection to ${what} within ${limitMs} ms`)),
    )
    try {
      return await this.#tryAll(allowed, AbortSignal.any([limit.signal, signal]))
    } finally {
      cancel()
    }
  }

  async #tryAll({ candidates, permits }: Allowed, signal: AbortSignal): Promise<Socket> {
    let failure: unknown
    for (const candidate of candidates) {
      for (const ip of await this.#addressesOf(candidate, permits, signal)) {
        try {
          return await this.#network.connect(ip, candidate.port, signal)
        } catch (error) {
          signal.throwIfAborted()
          failure ??= connectError(candidate, ip, error)
        }
      }
    }
    throw failure
  }

  async #addressesOf(
    { host }: DestinationAddress,
    permits: (ip: string) => boolean,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    if (canonicalIp(host) !== undefined) return [host]
    const found = await this.#resolve(host, signal)
    const permitted = found.filter(permits).slice(0, MAX_ADDRESSES_TRIED)
    if (found.length === 0) throw new OpenError('dns', `${host} has no address`)
    if (permitted.length === 0)
      throw new OpenError('denied', `${host} leads to an address that --allow-destination must name itself`)
    return permitted
  }

  /** The question itself cannot be taken back; its answer is just not waited for. */
  #resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(signal.reason as Error)
      if (signal.aborted) return giveUp()
      signal.addEventListener('abort', giveUp, { once: true })
      this.#network
        .resolve(host)
        .then(resolve, (cause: Error) => reject(new OpenError('dns', `${host}: ${cause.message}`, { cause })))
        .finally(() => signal.removeEventListener('abort', giveUp))
    })
  }
}

function connectError({ host, port }: DestinationAddress, ip: string, cause: unknown): OpenError {
  const { code, message } = cause as NodeJS.ErrnoException
  const where = host === ip ? `${ip} port ${port}` : `${host} (${ip}) port ${port}`
  return new OpenError(code === 'ETIMEDOUT' ? 'timeout' : 'refused', `${where}: ${code ?? message}`, { cause })
}
