/** What the port for health and metrics takes. Probes and scrapers are few and brief; whoever is not, is cut off. */

/** All headers of a request together: nobody needs a credential here. */
export const MAX_HEALTH_HEADER_BYTES = 8 * 1024
/** As above, in number. */
export const MAX_HEALTH_HEADERS = 64
/** The path and the names of some checks to leave out. */
export const MAX_HEALTH_TARGET_CHARS = 2_048
/** Probes and scrapers of a large site. Beyond, a newcomer gets the place of whoever has gone longest without a request. */
export const MAX_HEALTH_CONNECTIONS = 128
/** From the beginning of a connection, or the first byte of its next request, to the end of the headers. */
export const HEALTH_HEADERS_TIMEOUT_MS = 5_000
/** The same to the end of a body, which nobody wants. */
export const HEALTH_REQUEST_TIMEOUT_MS = 10_000
/** A connection that waits for its next request. */
export const HEALTH_KEEP_ALIVE_MS = 15_000
/** A connection on which nothing moves, such as that of a client which does not read. */
export const HEALTH_IDLE_TIMEOUT_MS = 30_000
