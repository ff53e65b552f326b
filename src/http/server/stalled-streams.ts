/**
 * Which streams of a connection have a reader that does not read. Looked at again and again while somebody waits for their
 * memory, and judged by what is seen meanwhile: what they did before nobody waited for.
 */
import type { Http2Stream } from '../http2/stream.ts'
import { MIN_READ_BYTES, STALLED_READER_CHECK_MS, STALLED_READER_UNDER_PRESSURE_MS } from './limits.ts'

interface Sight {
  readonly atMs: number
  readonly takenBytes: number
}

/** What lies further apart says nothing: nobody looked, or the process stood still and has not yet heard what its peers have read. */
const maxGapMs = 2 * STALLED_READER_CHECK_MS

export class StalledStreams {
  /** Of each stream that waits for its reader: when it was last seen to read, and how much had gone by then. */
  #sights = new Map<Http2Stream, Sight>()
  #lookedAtMs = 0

  look(streams: Iterable<Http2Stream>, nowMs: number): Http2Stream[] {
    const before = nowMs - this.#lookedAtMs > maxGapMs ? new Map<Http2Stream, Sight>() : this.#sights
    this.#lookedAtMs = nowMs
    this.#sights = new Map()
    const stalled: Http2Stream[] = []
    for (const stream of streams) {
      if (!isHeldByReader(stream)) continue
      const sight = sightOf(stream, before.get(stream), nowMs)
      if (nowMs - sight.atMs >= STALLED_READER_UNDER_PRESSURE_MS) stalled.push(stream)
      else this.#sights.set(stream, sight)
    }
    return stalled
  }
}

/** One that may send waits for the connection, as all the others do, and not for its own reader. */
function isHeldByReader({ queuedBytes, sendWindow }: Http2Stream): boolean {
  return queuedBytes > 0 && sendWindow <= 0
}

function sightOf({ takenBytes }: Http2Stream, before: Sight | undefined, nowMs: number): Sight {
  const isFirst = before === undefined || takenBytes - before.takenBytes >= MIN_READ_BYTES
  return isFirst ? { atMs: nowMs, takenBytes } : before
}
