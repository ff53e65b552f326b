/** Joins a connection of a link with what was dialled for it. Both end together, because the wire knows no half-close. */
import type { Duplex } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import type { PacketConnection } from './packet-connection.ts'

/** For a target to take its last bytes and say goodbye after the connection has been closed. */
const TARGET_LINGER_MS = 1_000

/** Nothing is read or written before the next turn of the event loop. */
export function joinConnection(connection: PacketConnection, target: Duplex, clock: Clock): void {
  target.on('error', () => connection.destroy())
  connection.once('close', () => {
    if (connection.errored !== null) target.destroy()
    else linger(target, clock)
  })
  target.once('close', () => {
    // In good order its end has been passed on; what is still on its way to the link must not be cut off.
    if (!target.readableEnded) connection.destroy()
  })
  connection.pipe(target)
  target.pipe(connection)
  // It may have gone while the dial was being answered.
  if (target.destroyed) connection.destroy()
}

function linger(target: Duplex, clock: Clock): void {
  if (target.destroyed) return
  target.once(
    'close',
    clock.schedule(TARGET_LINGER_MS, () => target.destroy()),
  )
  target.end()
  target.resume()
}
