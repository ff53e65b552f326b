/**
 * Gives up on clients that stop in the middle of a body. How long a whole body may take is nobody's business: an upload
 * that moves is let go on, however slow the link makes it.
 */
import type { RequestBody } from '../../http/body/streamed-body.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Headway } from '../../runtime/headway.ts'

/** As long as an API server would wait for an answer of its own. */
export const REQUEST_STALL_MS = 60_000
/** HTTP/1.1: for a body that nobody reads to its end, because it was answered before; after this its connection is closed. */
export const MAX_BODY_MS = 3_600_000

/** Returns a function that ends the watch. A body that waits for us to read on is not the client's stop. */
export function whenStalled(body: RequestBody, clock: Clock, onStall: () => void): () => void {
  const headway = new Headway(body.receivedBytes, clock.monotonicMs())
  let cancel = (): void => {}
  const look = (): void => {
    if (body.isOver) return
    const leftMs = REQUEST_STALL_MS - headway.stoodMs(body.receivedBytes, clock.monotonicMs())
    if (leftMs <= 0 && body.isWanted) onStall()
    else cancel = clock.schedule(leftMs > 0 ? leftMs : REQUEST_STALL_MS, look)
  }
  look()
  return () => cancel()
}
