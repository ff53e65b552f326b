/**
 * How what a feed learns becomes its history. Events come with the version at which they happened. What two lists differ in
 * does not: what is new has its own version, and of what is missing only this is known, that it went later than the first list.
 */
import { areComparable, compareVersions, isNotNewer } from '../../kube/reflector/versions.ts'
import type { Change } from '../../kube/reflector/view.ts'
import type { FeedChange, FeedHistory } from './feed-history.ts'
import type { KeptObject } from './kept-object.ts'

export interface Moved {
  readonly changes: readonly Change<KeptObject>[]
  /** Whether these are the differences between two lists. */
  readonly isSnapshot: boolean
  /** The version of the feed before and after; empty before its first list. */
  readonly before: string
  readonly after: string
}

export function recordChanges(history: FeedHistory, { changes, isSnapshot, before, after }: Moved): void {
  if (isSnapshot && !follows(changes, before, after)) {
    history.begin(after)
    return
  }
  history.advance(after)
  const told = changes.map((change) => toldAs(change, before))
  const ordered = isSnapshot ? told.toSorted(inferredFirst) : told
  for (const change of ordered) history.append(change)
}

/** False where the API server was set back, or the feed had missed something: nothing leads from the old list to the new. */
function follows(changes: readonly Change<KeptObject>[], before: string, after: string): boolean {
  if (before === '' || !areComparable(before, after) || !isNotNewer(before, after)) return false
  return changes.every(({ type, object }) => type === 'deleted' || !isNotNewer(object.version, before))
}

function toldAs(change: Change<KeptObject>, before: string): FeedChange {
  const { object } = change
  if (change.type === 'added')
    return { type: 'ADDED', object, previous: undefined, version: object.version, isInferred: false }
  if (change.type === 'updated')
    return { type: 'MODIFIED', object, previous: change.previous, version: object.version, isInferred: false }
  if (!change.stale) return { type: 'DELETED', object, previous: object, version: object.version, isInferred: false }
  return { type: 'DELETED', object: object.at(before), previous: object, version: before, isInferred: true }
}

/** Those that went under the version of the old list, so that versions never go back for anybody who reads on. */
function inferredFirst(a: FeedChange, b: FeedChange): number {
  if (a.isInferred !== b.isInferred) return a.isInferred ? -1 : 1
  return compareVersions(a.version, b.version)
}
