/**
 * How what a feed learns becomes its history. Events come with the version at which they happened. What two lists differ in
 * does not: what is new has its own version, and of what is missing only this is known, that it went between the two.
 */
import { areComparable, compareVersions, isNotNewer } from '../../kube/reflector/versions.ts'
import type { Change } from '../../kube/reflector/view.ts'
import type { FeedChange, FeedHistory, Gap } from './feed-history.ts'
import type { KeptObject } from './kept-object.ts'

export interface Moved {
  readonly changes: readonly Change<KeptObject>[]
  /** Whether these are the differences between two lists. */
  readonly isSnapshot: boolean
  /** The version of the feed before and after; empty before its first list. */
  readonly before: string
  readonly after: string
}

export function recordChanges(history: FeedHistory, moved: Moved): void {
  const { changes, isSnapshot, before, after } = moved
  if (isSnapshot && !follows(moved)) {
    history.begin(after)
    return
  }
  const told = changes.map((change) => toldAs(change, before, after))
  if (!isSnapshot) for (const change of told) history.append(change)
  else if (before !== after) appendAcross(history, history.skip(before, after), told)
}

function appendAcross(history: FeedHistory, gap: Gap, told: readonly FeedChange[]): void {
  for (const change of told.toSorted(inferredFirst)) history.append({ ...change, gap })
}

/** False where the API server was set back, or the feed had missed something: nothing leads from the old list to the new. */
function follows({ changes, before, after }: Moved): boolean {
  if (before === '' || !areComparable(before, after) || !isNotNewer(before, after)) return false
  if (before === after) return changes.length === 0
  return changes.every(({ type, object }) => type === 'deleted' || !isNotNewer(object.version, before))
}

function toldAs(change: Change<KeptObject>, before: string, after: string): FeedChange {
  const { object } = change
  if (change.type === 'added')
    return { type: 'ADDED', object, previous: undefined, version: object.version, isInferred: false }
  if (change.type === 'updated')
    return { type: 'MODIFIED', object, previous: change.previous, version: object.version, isInferred: false }
  if (!change.stale) return { type: 'DELETED', object, previous: object, version: object.version, isInferred: false }
  return { type: 'DELETED', object: object.at(before), previous: object, version: after, isInferred: true }
}

/** Those that went are told under the version of the old list, and so first: versions never go back for anybody who reads on. */
function inferredFirst(a: FeedChange, b: FeedChange): number {
  if (a.isInferred !== b.isInferred) return a.isInferred ? -1 : 1
  return compareVersions(a.version, b.version)
}
