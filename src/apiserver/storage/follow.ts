/**
 * A watch, put together from two sources: the history for what is past, the hub for what comes. It subscribes first and
 * then reads the history up to where the subscription begins, so that nothing is missed and nothing comes twice.
 */

import type { ChangeBatch } from './store.ts'
import { CompactedError } from './store-errors.ts'
import type { WatchHub } from './watch-hub.ts'

export interface History {
  /** The oldest revision after which changes are still known. */
  compactedRevision(): number
  /**
   * The changes under the prefix after one revision and up to another: as many as may be read in one go. The revision of
   * the result says how far it got.
   */
  changesBetween(prefix: string, afterRevision: number, toRevision: number): ChangeBatch
}

export async function* follow(
  hub: WatchHub,
  history: History,
  prefix: string,
  afterRevision: number,
  signal: AbortSignal,
): AsyncGenerator<ChangeBatch, void, undefined> {
  // Nothing ever changes at revision 1, so a watch from the very beginning is the same as one from there.
  let position = Math.max(afterRevision, 1)
  while (!signal.aborted) {
    const subscription = hub.subscribe(prefix)
    try {
      for await (const batch of replay(history, prefix, position, subscription.startRevision)) {
        if (signal.aborted) return
        yield batch
      }
      position = Math.max(position, subscription.startRevision)
      for (;;) {
        const taken = await subscription.take(signal)
        if (taken === undefined) return
        if (taken.type === 'fell-behind') break
        const batch = after(position, taken.batch)
        if (batch === undefined) continue
        position = batch.revision
        yield batch
      }
    } finally {
      subscription.cancel()
    }
  }
}

/** Ends with a batch for `toRevision`, if need be an empty one: the reader then knows that it has caught up. */
async function* replay(history: History, prefix: string, position: number, toRevision: number) {
  while (position < toRevision) {
    const compacted = history.compactedRevision()
    if (position < compacted) throw new CompactedError(compacted)
    const batch = history.changesBetween(prefix, position, toRevision)
    position = batch.revision
    if (batch.changes.length > 0 || position === toRevision) yield batch
    // A long history must not keep everybody else from running.
    await nextTurn()
  }
}

/** Without what is not newer than `position`, which only a watch that began in the future still has to leave out. */
function after(position: number, batch: ChangeBatch): ChangeBatch | undefined {
  if (batch.revision <= position) return undefined
  const first = batch.changes[0]
  if (first === undefined || first.revision > position) return batch
  const changes = batch.changes.filter((change) => change.revision > position)
  return { changes, revision: batch.revision }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
