/**
 * Keeps Node's HTTP/1.1 server from reading past the socket. It takes bytes straight from the handle of a connection while nobody
 * listens to the socket, all that came in one turn of the event loop; secured sockets hand out theirs in turns.
 */
import type { Socket } from 'node:net'

/** Call it with a socket that was just given to Node's server. */
export function parseInTurns(socket: Pick<Socket, 'on' | 'off'>): void {
  const nobody = (): void => {}
  // Whoever has listened once has made Node give the bytes to the socket for good.
  socket.on('data', nobody).off('data', nobody)
}
