/** What one connection, and all of them together, may cost. Whoever crosses a line loses the connection or the stream. */

/** Room for long tokens and impersonation headers. */
export const MAX_REQUEST_HEADER_BYTES = 64 * 1024
/** Many groups to impersonate; Go's own servers stop at the bytes alone. */
export const MAX_REQUEST_HEADERS = 512
/** What kube-apiserver allows; Go clients open another connection beyond it. */
export const MAX_STREAMS_PER_CONNECTION = 250
/** Some for each node of a large cluster; beyond, the process would run out of files or memory for everybody. */
export const MAX_CONNECTIONS = 10_000
/** A client that cannot finish its handshake in this time never will. */
export const HANDSHAKE_TIMEOUT_MS = 10_000
/** HTTP/1.1: from the first byte of a request, or from the handshake, to the end of its headers. As kube-apiserver has it. */
export const HEADERS_TIMEOUT_MS = 32_000
/** HTTP/1.1: from the first byte of a request to the end of its body. Its answer would be a timeout by then. */
export const BODY_TIMEOUT_MS = 65_000
/** HTTP/1.1: how often the times of headers and bodies are looked at, and so how far they may be exceeded. */
export const CONNECTION_CHECK_MS = 5_000
/**
 * How long a client that has been answered may go on sending its request before the connection is closed, or the stream of
 * HTTP/2 reset. HTTP/1.1: closing at once resets it, which may overtake the answer; as kube-apiserver has it. HTTP/2: some clients
 * take any reset for a failure, and most have sent all by then.
 */
export const EARLY_ANSWER_LINGER_MS = 500
/** Bytes of answers that wait for the client of one connection: some large lists. Its further requests wait until it has read. */
export const MAX_UNSENT_BYTES_PER_CONNECTION = 16 * 1024 * 1024
/** Bytes of answers that wait for the clients of all connections of a listener. Beyond it all requests wait, and those who do not read are cut without delay. */
export const MAX_UNSENT_ANSWER_BYTES = 256 * 1024 * 1024
/** A connection with less than this to read is not cut for not reading, unless others wait for the memory. */
export const STALLED_READER_BYTES = 1024 * 1024
/** A connection whose client reads less than `MIN_READ_BYTES` in this time is cut: the slowest links that are of any use carry that in a few seconds. */
export const STALLED_READER_MS = 30_000
/** How long a client may stand still while others wait for the memory, also for a single stream of HTTP/2 whose connection holds requests back: a link may stop for a moment, no longer. */
export const STALLED_READER_UNDER_PRESSURE_MS = 2_000
/** How often it is looked at who does not read. */
export const STALLED_READER_CHECK_MS = 1_000
/** Less than this is no headway: a client that takes a byte now and then does not read. */
export const MIN_READ_BYTES = 16 * 1024
/** HTTP/1.1: a body goes to the connection in pieces of this size, so that it can be seen whether its client reads. */
export const ANSWER_PIECE_BYTES = 64 * 1024
/** HTTP/2: from the end of a connection to its last byte. A slow client has read by then what was under way to it; one that reads nothing would keep it for good. */
export const LAST_FRAMES_TIMEOUT_MS = 30_000
/** A connection without a request under way; clients keep theirs as long. As kube-apiserver has it. */
export const IDLE_CONNECTION_MS = 90_000
/** Pings in a row that a client may leave unanswered, one in `IDLE_CONNECTION_MS` or in what a listener has in its place: a client that was cut off for a few minutes may come back, one that is gone is let go. */
export const MAX_UNANSWERED_PINGS = 3
/** A connection that has been silent for so long is probed by TCP: a peer that vanished without a word is seen within a minute. */
export const TCP_KEEPALIVE_MS = 30_000
