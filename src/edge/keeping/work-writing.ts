/** Writes what was queued into a file. What cannot be kept is left out and told; errors of the disk are thrown. */
import type { Logger } from '../../telemetry/logger.ts'
import type { ChangeQueue, FeedWork } from './change-queue.ts'
import type { FeedState } from './kept.ts'
import { type KeptImage, type RowStep, UnkeptError } from './kept-image.ts'
import type { RecordShelves } from './record-shelves.ts'
import type { UnkeptFeeds } from './unkept-feeds.ts'
import type { WrittenFile } from './written-file.ts'

export interface WorkSources {
  readonly logger: Logger
  readonly shelves: RecordShelves
  readonly unkept: UnkeptFeeds
  presentFeed(key: string): FeedState | undefined
}

/** Takes all that is in the queue now. */
export async function writeWork(file: WrittenFile, queue: ChangeQueue, sources: WorkSources): Promise<void> {
  const { feeds, records } = queue.take()
  for (const { shelf, key } of records) await writeRecord(file, shelf, key, sources)
  for (const [key, work] of feeds) await writeFeed(file, key, work, sources)
}

async function writeRecord(
  file: WrittenFile,
  shelf: string,
  key: string,
  { shelves, unkept }: WorkSources,
): Promise<void> {
  try {
    await file.write([file.image.record(shelf, key, shelves.get(shelf, key))])
  } catch (error) {
    if (!(error instanceof UnkeptError)) throw error
    unkept.record(shelf, error.reason)
    await file.write([file.image.record(shelf, key, undefined)])
  }
}

async function writeFeed(file: WrittenFile, key: string, work: FeedWork, sources: WorkSources): Promise<void> {
  try {
    await file.write(stepsOf(file.image, key, work, () => presentState(key, sources)))
    sources.unkept.settled(key)
  } catch (error) {
    if (!(error instanceof UnkeptError)) throw error
    sources.unkept.feed(key, error.reason)
    await file.write(file.image.drop(key))
  }
}

function stepsOf(
  image: KeptImage,
  key: string,
  work: FeedWork,
  present: () => FeedState | undefined,
): Iterable<RowStep> {
  if (work.kind === 'drop') return image.drop(key)
  if (work.kind === 'replace') return image.replace(key, { ...work, entries: work.entries.values() })
  if (work.kind === 'change' && image.has(key, work.secret)) {
    return image.change(key, work.head, work.puts.values(), work.deletes)
  }
  const state = present()
  return state === undefined ? image.drop(key) : image.replace(key, state)
}

/**
 * Changes that were queued meanwhile are part of it, and are written once more with the next ones, which does no harm. A
 * mistake of the owner costs it this feed on disk, and nobody else anything.
 */
function presentState(key: string, sources: WorkSources): FeedState | undefined {
  try {
    const state = sources.presentFeed(key)
    return state && { ...state, entries: [...state.entries] }
  } catch (error) {
    sources.logger.error({ err: error }, 'the state of a feed cannot be had, and it is not kept')
    return undefined
  }
}
