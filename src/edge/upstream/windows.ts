/**
 * How many bytes of an answer may be under way: enough to fill the link for one stream, and never more than a budget for all
 * streams of a connection together, because what a slow reader leaves unread is held in memory.
 */

/** What one stream reaches at most: a link of 400 Mbit/s. */
const STREAM_BYTES_PER_SECOND = 50 * 1024 * 1024
/** What is left to each stream of a full connection. */
export const MIN_STREAM_WINDOW_BYTES = 128 * 1024
/** Few streams get as much on the shortest link too: both ends need time of their own. */
const SHORT_LINK_WINDOW_BYTES = 1024 * 1024
/** As far as the window of the tunnel's own stream grows. */
export const MAX_STREAM_WINDOW_BYTES = 16 * 1024 * 1024
/** Unread bytes of one connection, all its streams together. */
export const UNREAD_BUDGET_BYTES = 16 * 1024 * 1024
/** A link whose round trip is not known yet is taken for a slow one. */
const ASSUMED_RTT_MS = 100

/** A power of two, so that it changes seldom. */
export function streamWindowBytes(rttMs: number | undefined, streams: number): number {
  const forLink = Math.max(SHORT_LINK_WINDOW_BYTES, ((rttMs ?? ASSUMED_RTT_MS) / 1000) * STREAM_BYTES_PER_SECOND)
  const share = UNREAD_BUDGET_BYTES / Math.max(1, streams)
  const bytes = Math.min(forLink, share, MAX_STREAM_WINDOW_BYTES)
  return Math.max(MIN_STREAM_WINDOW_BYTES, 2 ** Math.floor(Math.log2(bytes)))
}
