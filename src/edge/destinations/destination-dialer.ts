/** From an allowed destination to a connection: every name resolved here, every address checked once more, within one time limit. */
import type { Socket } from 'node:net'
import { canonicalIp } from '../../network/host.ts'
import type { HostPort } from '../../network/host-port.ts'
import type { Network } from '../../network/tcp.ts'
import type { Clock } from '../../runtime/clock.ts'
import { within } from '../../tunnel/carriers/deadline.ts'
import { dialAddress, MAX_ADDRESSES_PER_NAME, refusalOf, shareOfTime } from '../../tunnel/dial-address.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { DestinationDecision } from './destination-policy.ts'

/** What is on this node, or near it, answers sooner; a hub may wait less, never longer. */
export const MAX_DESTINATION_DIAL_MS = 30_000
type Allowed = Exclude<DestinationDecision, { readonly kind: 'denied' }>

export interface DialRequest {
  readonly allowed: Allowed
  readonly deadlineMs: number | undefined
  /** Aborts when the opener has gone. */
  readonly signal: AbortSignal
}

export class DestinationDialer {
  readonly #network: Network
  readonly #clock: Clock

  constructor(network: Network, clock: Clock) {
    this.#network = network
    this.#clock = clock
  }

  /** Rejects with an `OpenError`, or with the signal's reason. */
  async dial({ allowed, deadlineMs, signal }: DialRequest): Promise<Socket> {
    const limitMs = Math.min(deadlineMs ?? MAX_DESTINATION_DIAL_MS, MAX_DESTINATION_DIAL_MS)
    const untilMs = this.#clock.monotonicMs() + limitMs
    const late = (): Error => {
      const what = allowed.candidates.map(({ host }) => host).join(', ')
      return new OpenError('timeout', `no connection to ${what} within ${limitMs} ms`)
    }
    return await within({ clock: this.#clock, signal }, limitMs, late, (until) => this.#tryAll(allowed, untilMs, until))
  }

  /** In turn, each with its share of the time: an address that swallows packets does not cost the others their chance. */
  async #tryAll({ candidates, permits }: Allowed, untilMs: number, signal: AbortSignal): Promise<Socket> {
    let failure: unknown
    for (const [index, candidate] of candidates.entries()) {
      const ips = await this.#addressesOf(candidate, permits, signal)
      for (const [place, ip] of ips.entries()) {
        const left = ips.length - place + (candidates.length - 1 - index)
        const limitMs = shareOfTime(untilMs - this.#clock.monotonicMs(), left)
        const { port } = candidate
        try {
          return await dialAddress({ network: this.#network, ip, port, limitMs, clock: this.#clock, signal })
        } catch (error) {
          signal.throwIfAborted()
          failure ??= connectError(candidate, ip, error)
        }
      }
    }
    throw failure
  }

  async #addressesOf(
    { host }: HostPort,
    permits: (ip: string) => boolean,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    if (canonicalIp(host) !== undefined) return [host]
    const found = await this.#resolve(host, signal)
    const permitted = found.filter(permits).slice(0, MAX_ADDRESSES_PER_NAME)
    if (found.length === 0) throw new OpenError('dns', `${host} has no address`)
    if (permitted.length === 0)
      throw new OpenError('denied', `${host} leads to an address that --allow-destination must name itself`)
    return permitted
  }

  async #resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    try {
      const found = await this.#network.resolve(host, signal)
      signal.throwIfAborted()
      return found
    } catch (cause) {
      signal.throwIfAborted()
      throw new OpenError('dns', `${host}: ${(cause as Error).message}`, { cause })
    }
  }
}

function connectError({ host, port }: HostPort, ip: string, cause: unknown): OpenError {
  const { code, message } = cause as NodeJS.ErrnoException
  const where = host === ip ? `${ip} port ${port}` : `${host} (${ip}) port ${port}`
  return new OpenError(refusalOf(cause), `${where}: ${code ?? message}`, { cause })
}
