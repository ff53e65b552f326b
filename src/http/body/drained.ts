/** Waiting for a slow reader. */
import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Resolves when more can be written, or when there is nobody left to write to. Leaves no listener behind. */
export async function drained(stream: Writable, closed: AbortSignal): Promise<void> {
  try {
    await once(stream, 'drain', { signal: closed })
  } catch {
    // Gone, one way or the other; `closed` tells everybody who has to know.
  }
}
