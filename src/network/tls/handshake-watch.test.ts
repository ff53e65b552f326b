import { EventEmitter } from 'node:events'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { HandshakeWatch, MAX_KEY_CHANGES } from './handshake-watch.ts'

class FakeSocket extends EventEmitter {
  destroyed = false
  why: Error | undefined

  destroy(why: Error): void {
    this.destroyed = true
    this.why ??= why
  }
}

function watched() {
  const socket = new FakeSocket()
  const path = { feed: () => {}, open: () => {}, end: () => {}, pause: () => {}, resume: () => {} }
  const watch = new HandshakeWatch(socket as unknown as TLSSocket, { peer: 'client', path, turn: () => undefined })
  return { socket, watch }
}

describe('a connection after its handshake', () => {
  it('ends when its keys are changed without end', () => {
    const { socket } = watched()
    socket.emit('secure')
    const change = (): boolean => socket.emit('keylog', Buffer.from('CLIENT_TRAFFIC_SECRET_N 00 00\n'))
    for (let changes = 0; changes < MAX_KEY_CHANGES; changes += 1) change()
    expect(socket.destroyed).toBe(false)
    change()
    expect(socket.why?.message).toBe(`the keys were changed more than ${MAX_KEY_CHANGES} times`)
  })
})

describe('a connection before its handshake', () => {
  it('ends where what comes is more than may wait', () => {
    const { socket, watch } = watched()
    watch.take(Buffer.alloc(1024 * 1024))
    expect(socket.why).toMatchObject({ name: 'HandshakeRefusal' })
  })

  it('ends with its peer', () => {
    const { socket, watch } = watched()
    watch.end()
    expect(socket.why?.message).toBe('the peer left during its TLS handshake')
  })
})
