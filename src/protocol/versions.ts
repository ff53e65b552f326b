/** What hub and edge call the ways of their sessions when they agree on one. Another version gets another name. */

/** In TLS (ALPN): a session straight on the connection. */
export const SESSION_PROTOCOL = 'causeway/1'

/** Session frames right in a WebSocket; who the edge is was settled by the TLS around it. */
export const WEBSOCKET_PROTOCOL = 'causeway.v1'
/** TLS in the WebSocket, and the session in that; the TLS around it may end anywhere on the way and proves nothing. */
export const INNER_TLS_PROTOCOL = 'causeway.v1.inner-tls'

export type TunnelProtocol = typeof WEBSOCKET_PROTOCOL | typeof INNER_TLS_PROTOCOL
