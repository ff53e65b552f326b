/**
 * Connects to a host by TCP. A name may have several addresses: they are tried one after the other, in the order DNS gives,
 * each with its share of the time, so that one that swallows packets does not cost the others their chance.
 */
import { isIP, type Socket } from 'node:net'
import type { HostPort } from '../../network/host-port.ts'
import { formatAddress } from '../../network/listen.ts'
import { type Network, systemNetwork } from '../../network/tcp.ts'
import type { Clock } from '../../runtime/clock.ts'
import { within } from '../../tunnel/carriers/deadline.ts'
import { dialAddress, MAX_ADDRESSES_PER_NAME, refusalOf, shareOfTime } from '../../tunnel/dial-address.ts'
import { OpenError } from '../../tunnel/open-error.ts'

export interface DialOptions {
  readonly deadlineMs: number
  /** Aborts when nobody waits any more; the dial then rejects with its reason. */
  readonly signal: AbortSignal
  /** Whether this address of the host may be connected to; absent: all. */
  readonly permits?: (ip: string) => boolean
}

export interface TargetDialerOptions {
  readonly clock: Clock
  readonly network?: Network
}

export class TargetDialer {
  readonly #clock: Clock
  readonly #network: Network

  constructor({ clock, network = systemNetwork }: TargetDialerOptions) {
    this.#clock = clock
    this.#network = network
  }

  /** Rejects with an `OpenError`, or with the signal's reason. */
  async dial(address: HostPort, { deadlineMs, signal, permits }: DialOptions): Promise<Socket> {
    const untilMs = this.#clock.monotonicMs() + deadlineMs
    const text = formatAddress(address)
    const found = await this.#addressesOf(address, deadlineMs, signal)
    const allowed = permits === undefined ? found : found.filter(permits)
    if (allowed.length === 0)
      throw new OpenError('denied', `${text} leads to ${found.join(', ')}, which only a rule for that address allows`)
    return await inTurn(allowed, `cannot connect to ${text}`, signal, (ip, left) => {
      const limitMs = shareOfTime(untilMs - this.#clock.monotonicMs(), left)
      return this.#connect(ip, address.port, limitMs, signal)
    })
  }

  async #addressesOf({ host }: HostPort, limitMs: number, signal: AbortSignal): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host]
    const late = (): Error => new OpenError('timeout', `DNS did not answer for ${host} within ${limitMs} ms`)
    const ask = (until: AbortSignal): Promise<readonly string[]> => this.#network.resolve(host, until)
    const found = await within({ clock: this.#clock, signal }, limitMs, late, ask).catch((error: unknown) => {
      if (error instanceof OpenError || signal.aborted) throw error
      throw new OpenError('dns', `${host} has no address: ${codeOf(error)}`, { cause: error })
    })
    if (found.length === 0) throw new OpenError('dns', `${host} has no address`)
    return found.slice(0, MAX_ADDRESSES_PER_NAME)
  }

  async #connect(ip: string, port: number, limitMs: number, signal: AbortSignal): Promise<Socket> {
    const attempt = { network: this.#network, ip, port, limitMs, clock: this.#clock, signal }
    return await dialAddress(attempt).catch((error: unknown) => {
      throw signal.aborted ? error : new OpenError(refusalOf(error), `${ip}: ${textOf(error)}`, { cause: error })
    })
  }
}

/**
 * The first that succeeds. Where none does, the error has the code they share, else `refused`, and all their texts. Nothing
 * further is tried once nobody waits any more.
 */
export async function inTurn<T>(
  candidates: readonly T[],
  problem: string,
  signal: AbortSignal,
  attempt: (candidate: T, left: number) => Promise<Socket>,
): Promise<Socket> {
  const failures: OpenError[] = []
  for (const [index, candidate] of candidates.entries()) {
    try {
      return await attempt(candidate, candidates.length - index)
    } catch (error) {
      if (!(error instanceof OpenError) || signal.aborted) throw error
      failures.push(error)
    }
  }
  const [first] = failures
  const code = failures.every((failure) => failure.code === first?.code) ? (first?.code ?? 'refused') : 'refused'
  throw new OpenError(code, `${problem}: ${failures.map(({ message }) => message).join('; ')}`, { cause: failures })
}

/** In a word where there is one that everybody knows. */
function textOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'connection refused'
  return code === undefined || message.startsWith('no answer') ? message : code
}

function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}
