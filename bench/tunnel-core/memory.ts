/** Two sessions back to back in memory: what the state machine alone costs, without sockets or encryption. */
import { systemClock } from '../../src/runtime/clock.ts'
import { Budget } from '../../src/tunnel/yamux/budget.ts'
import { Session } from '../../src/tunnel/yamux/session.ts'
import type { SessionHandler } from '../../src/tunnel/yamux/session-options.ts'
import type { Stream } from '../../src/tunnel/yamux/stream.ts'

const chunk = Buffer.alloc(64 * 1024, 7)
const recordBytes = 16 * 1024

/** Megabytes per second from one session to another over `streams` streams, cut into pieces as a TLS socket would. */
export function measureMemory(streams: number, milliseconds: number): number {
  let receivedBytes = 0
  const quiet = { onSendable() {}, onGoAway() {}, onRoundTrip() {}, onEnd() {} }
  const drain = (stream: Stream): void => {
    for (let part = stream.read(); part !== undefined; part = stream.read()) receivedBytes += part.length
  }
  const server = newSession('server', {
    ...quiet,
    onStream: (stream) => {
      stream.accept()
      stream.attach({ onReadable: () => drain(stream), onWritable() {}, onReset() {} })
    },
  })
  const client = newSession('client', { ...quiet, onStream() {} })
  for (let count = 0; count < streams; count++) {
    const stream = client.open()
    const fill = (): void => {
      while (stream.write(chunk)) {}
    }
    stream.attach({ onReadable() {}, onWritable: fill, onReset() {} })
    fill()
  }
  const startMs = performance.now()
  while (performance.now() - startMs < milliseconds) {
    move(client, server)
    move(server, client)
  }
  return receivedBytes / (performance.now() - startMs) / 1000
}

function newSession(role: 'client' | 'server', handler: SessionHandler): Session {
  return new Session({ role, clock: systemClock, budget: new Budget(), handler })
}

function move(from: Session, to: Session): void {
  for (const buffer of from.take(256 * 1024)) {
    for (let offset = 0; offset < buffer.length; offset += recordBytes) {
      to.receive(buffer.subarray(offset, offset + recordBytes))
    }
  }
}
