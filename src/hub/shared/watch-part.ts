/** A view that a hub keeps by watch and cannot start without: complete once before anybody is served, then followed. */
import type { RunningPart } from '../../process/lifecycle.ts'
import { explained } from './cluster-error.ts'

/** Follows until the signal aborts; says when the view is complete, or that the hub may not have it. */
export type Follow = (signal: AbortSignal, synced: () => void, refused: (error: unknown) => void) => Promise<void>

/** Resolves once the view is complete for the first time; rejects, with nothing left running, if it will not be. */
export async function startWatch(doing: string, follow: Follow, signal: AbortSignal): Promise<RunningPart> {
  signal.throwIfAborted()
  const stopped = new AbortController()
  let ended: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    stopped.abort()
    await ended
  }
  const complete = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const giveUp = (): void => reject(signal.reason as Error)
      signal.addEventListener('abort', giveUp, { once: true, signal: stopped.signal })
      ended = follow(stopped.signal, resolve, reject)
    })
  try {
    await explained(doing, complete)
    return { stop }
  } catch (error) {
    await stop()
    throw error
  }
}
