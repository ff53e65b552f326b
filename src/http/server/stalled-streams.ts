/**
 * Which streams of a connection have a reader that does not read. Looked at again and again while somebody waits for their
 * memory, and judged by what is seen meanwhile: what they did before nobody waited for.
 */
import { Headway } from '../../runtime/headway.ts'
import type { Http2Stream } from '../http2/stream.ts'
import { MIN_READ_BYTES, STALLED_READER_CHECK_MS, STALLED_READER_UNDER_PRESSURE_MS } from './limits.ts'

/** What lies further apart says nothing: nobody looked, or the process stood still and has not yet heard what its peers have read. */
const maxGapMs = 2 * STALLED_READER_CHECK_MS

export class StalledStreams {
  /** The headway of each stream that waits for its reader. */
  #seen = new Map<Http2Stream, Headway>()
  #lookedAtMs = 0

  look(streams: Iterable<Http2Stream>, nowMs: number): Http2Stream[] {
    const before = nowMs - this.#lookedAtMs > maxGapMs ? new Map<Http2Stream, Headway>() : this.#seen
    this.#lookedAtMs = nowMs
    this.#seen = new Map()
    const stalled: Http2Stream[] = []
    for (const stream of streams) {
      if (!isHeldByReader(stream)) continue
      const headway = before.get(stream) ?? new Headway(stream.takenBytes, nowMs, MIN_READ_BYTES)
      if (headway.stoodMs(stream.takenBytes, nowMs) >= STALLED_READER_UNDER_PRESSURE_MS) stalled.push(stream)
      else this.#seen.set(stream, headway)
    }
    return stalled
  }
}

/** One that may send waits for the connection, as all the others do, and not for its own reader. */
function isHeldByReader({ queuedBytes, sendWindow }: Http2Stream): boolean {
  return queuedBytes > 0 && sendWindow <= 0
}
