/**
 * One attempt to open a session with a hub. A session counts as open when the hub has answered its first ping: with TLS 1.3 a
 * hub that refuses our certificate says so only after the handshake looks done from here.
 */

import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Carrier } from '../../tunnel/carrier.ts'
import { SessionDriver } from '../../tunnel/session-driver.ts'
import type { TunnelStream } from '../../tunnel/tunnel-stream.ts'
import type { Budget } from '../../tunnel/yamux/budget.ts'
import { SessionError } from '../../tunnel/yamux/errors.ts'

/** Opens a byte stream to the hub at that address, under the certificate of the moment. */
export type DialSession = (hub: URL, signal: AbortSignal) => Promise<Carrier>

/** Asks a hub that ended a session without a word what is wrong: rejects with a `HubError` if it says. */
export type AskWhy = (hub: URL, signal: AbortSignal) => Promise<unknown>

export interface SessionAttemptOptions {
  readonly hub: URL
  readonly dial: DialSession
  readonly askWhy?: AskWhy | undefined
  readonly clock: Clock
  readonly net: SafetyNet
  readonly budget: Budget
  /** Takes the streams that the hub opens. */
  readonly serve: (stream: TunnelStream) => void
}

/** From the first byte on, and also after the attempt has succeeded. */
export interface SessionEvents {
  readonly began: (driver: SessionDriver) => void
  readonly wentAway: () => void
  readonly ended: (driver: SessionDriver, error: SessionError) => void
}

/** Resolves when the hub has answered; rejects with what is known of the reason. */
export async function attemptSession(
  options: SessionAttemptOptions,
  events: SessionEvents,
  signal: AbortSignal,
): Promise<SessionDriver> {
  const { hub, dial, askWhy } = options
  const carrier = await dial(hub, signal)
  if (signal.aborted) {
    carrier.destroy()
    throw signal.reason
  }
  try {
    return await answered(carrier, options, events, signal)
  } catch (error) {
    // The hub has turned us away, or has a fault; on HTTP it says which.
    if (error instanceof SessionError) await askWhy?.(hub, signal)
    throw error
  }
}

function answered(
  carrier: Carrier,
  { clock, net, budget, serve }: SessionAttemptOptions,
  { began, wentAway, ended }: SessionEvents,
  signal: AbortSignal,
): Promise<SessionDriver> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      reject(signal.reason as Error)
      driver.close()
    }
    const settle = (action: () => void): void => {
      signal.removeEventListener('abort', giveUp)
      action()
    }
    const handler = {
      onStream: serve,
      onRoundTrip: () => settle(() => resolve(driver)),
      onGoAway: wentAway,
      onEnd: (error: SessionError) => {
        ended(driver, error)
        settle(() => reject(error))
      },
    }
    const driver = new SessionDriver({ role: 'client', carrier, clock, net, budget, handler })
    began(driver)
    signal.addEventListener('abort', giveUp, { once: true })
  })
}
