/**
 * What gets past every net of a role that serves: it is counted and logged, and the process goes on. Ending it would cut off
 * everybody, and a peer that can cause one such error can cause the next after each restart. Parts whose failure leaves nothing
 * to serve say so themselves and end the process; docs/security.md has the reasons.
 */
import type { SafetyNet } from '../process/safety-net.ts'
import type { CommandContext } from './context.ts'

const EVENTS = ['uncaughtException', 'unhandledRejection'] as const

/** Returns how to stop: from then on such an error ends the process, as it does before. */
export function catchTheRest({ signals }: Pick<CommandContext, 'signals'>, net: SafetyNet): () => void {
  const onError = (error: unknown): void => net.caught('process', error)
  for (const event of EVENTS) signals.on(event, onError)
  return () => {
    for (const event of EVENTS) signals.off(event, onError)
  }
}
