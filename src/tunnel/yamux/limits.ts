/** Every limit of a session: its default, and why. Crossing one ends the stream or the session that crossed it. */

/** Largest data frame taken in. A frame can never exceed its stream's window, so this is the largest window. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024

/** Largest data frame sent: one read of a socket fits, and a small stream never waits behind more than this per turn. */
export const MAX_SENT_FRAME_BYTES = 64 * 1024

/** Turn of one stream while others wait: small enough for fairness, large enough that headers cost nothing. */
export const SEND_QUANTUM_BYTES = 32 * 1024

/** A window grows to this at most: 100 ms of round trip at 160 MB/s. */
export const MAX_WINDOW_BYTES = 16 * 1024 * 1024

/** A window shrinks to this at least when a session has very many streams, so that each still moves. */
export const MIN_WINDOW_BYTES = 32 * 1024

/** Window bytes one session may promise above the 256 KiB that the wire gives every stream. */
export const MAX_SESSION_WINDOW_BYTES = 64 * 1024 * 1024

/** Window bytes all sessions of a process may promise above what the wire gives. */
export const MAX_PROCESS_WINDOW_BYTES = 512 * 1024 * 1024

/** Bytes one session may hold, unread and unsent together, before its largest stream is reset. */
export const MAX_SESSION_BUFFERED_BYTES = 128 * 1024 * 1024

/** Bytes all sessions may hold before the largest stream of the session that holds most is reset. */
export const MAX_PROCESS_BUFFERED_BYTES = 512 * 1024 * 1024

/** Streams open at once in one session: far above what the pods of a node use. */
const MAX_STREAMS_PER_SESSION = 16_384

/** Streams of the peer that have not been answered yet: so many dials may be under way for one session. */
export const MAX_ACCEPT_BACKLOG = 1_024

/** Streams a peer may open per second, over time. */
export const MAX_OPENS_PER_SECOND = 10_000

/**
 * Streams a peer may open per second, over time, for nothing: it resets them before they are answered, says nothing readable of where
 * they lead, or wants where it may not. No program of an edge that tries again and again comes near.
 */
export const MAX_FRUITLESS_OPENS_PER_SECOND = 1_000

/** Streams a peer may open for nothing at once: so many clients may give up at a time, when what they wait for has died. */
export const MAX_FRUITLESS_OPENS_AT_ONCE = 5_000

/** We open this part of what we let the peer open: delay must not make a burst of ours look like an attack. */
export const OWN_OPENS_SHARE = 0.5

/** Stray frames, empty ones and credit for nothing that a peer may send per second, over time, before its session ends. */
export const MAX_IDLE_FRAMES_PER_SECOND = 2_000

/** Idle frames every stream brings by itself: its acknowledgement, and credit, end and reset that cross ours. */
export const IDLE_FRAMES_PER_STREAM = 4

/** Idle frames that streams may have brought and the peer has not used: as many as its streams can at once. */
export const MAX_EARNED_IDLE_FRAMES = 65_536

/** Pings a peer may send per second, over time; a peer that measures needs one. */
export const MAX_PINGS_PER_SECOND = 20

/** Control bytes that may wait for a carrier that does not drain: a peer that asks and never reads is ended. */
const MAX_CONTROL_QUEUE_BYTES = 1024 * 1024

/**
 * Window updates below this credit count as empty frames: no honest reader sends many of them. For as many bytes as this that
 * were sent to it, a reader may send one update.
 */
export const SMALL_CREDIT_BYTES = 4 * 1024

/** Unsent bytes of one stream at which its writer is told to wait. */
const SEND_HIGH_WATER_BYTES = 256 * 1024

/** Unsent bytes of one stream at which its writer is told to wait, at least, when a session has very many streams. */
export const MIN_SEND_HIGH_WATER_BYTES = 4 * 1024

/** Ids below the highest one seen that the peer may still use: concurrent openers send their first frames out of order. */
export const MAX_SKIPPED_IDS = 1_024

/** Streams that were reset here for which late data is expected: those of the last moments, on a line of any length. */
export const MAX_RESET_STREAMS = 1_024

/** Frames, or messages, that are handled before the time is looked at: some tenths of a millisecond, whatever they hold. */
export const FRAMES_PER_LOOK = 8

/** How often a quiet peer is asked for a sign of life. */
export const KEEPALIVE_INTERVAL_MS = 10_000

/** Whole intervals without a single byte after which the peer is dead: a lost link is noticed within 30 s at the latest. */
export const MAX_SILENT_INTERVALS = 2

/** Pings in a row that a peer may leave unanswered, or not even let leave, although it sends other bytes. */
export const MAX_UNANSWERED_PINGS = 6

/** How long a session without streams waits for its go-away to be read: a peer that lives answers a ping within this time. */
export const MAX_GO_AWAY_ANSWER_MS = 5_000

/** A round trip older than this is measured again while data flows, because windows follow it. */
export const RTT_MAX_AGE_MS = 1_000

/** A stream that moved no byte for this long is reset; the kubelet gives idle `exec` sessions the same time. */
const STREAM_IDLE_MS = 4 * 60 * 60 * 1000

export interface SessionLimits {
  readonly maxFrameBytes: number
  readonly maxWindowBytes: number
  readonly maxStreams: number
  readonly maxAcceptBacklog: number
  readonly maxOpensPerSecond: number
  readonly maxFruitlessOpensPerSecond: number
  readonly maxFruitlessOpensAtOnce: number
  readonly maxIdleFramesPerSecond: number
  readonly maxPingsPerSecond: number
  readonly maxControlQueueBytes: number
  readonly sendHighWaterBytes: number
  readonly keepaliveIntervalMs: number
  readonly streamIdleMs: number
}

export const DEFAULT_SESSION_LIMITS: SessionLimits = {
  maxFrameBytes: MAX_FRAME_BYTES,
  maxWindowBytes: MAX_WINDOW_BYTES,
  maxStreams: MAX_STREAMS_PER_SESSION,
  maxAcceptBacklog: MAX_ACCEPT_BACKLOG,
  maxOpensPerSecond: MAX_OPENS_PER_SECOND,
  maxFruitlessOpensPerSecond: MAX_FRUITLESS_OPENS_PER_SECOND,
  maxFruitlessOpensAtOnce: MAX_FRUITLESS_OPENS_AT_ONCE,
  maxIdleFramesPerSecond: MAX_IDLE_FRAMES_PER_SECOND,
  maxPingsPerSecond: MAX_PINGS_PER_SECOND,
  maxControlQueueBytes: MAX_CONTROL_QUEUE_BYTES,
  sendHighWaterBytes: SEND_HIGH_WATER_BYTES,
  keepaliveIntervalMs: KEEPALIVE_INTERVAL_MS,
  streamIdleMs: STREAM_IDLE_MS,
}
