import { EventEmitter } from 'node:events'
import type { Server } from 'node:net'
import { describe, expect, it } from 'vitest'
import { limitAddresses } from './address-limit.ts'

function world(maxConnections: number) {
  const server = new EventEmitter()
  let refused = 0
  limitAddresses(server as unknown as Server, maxConnections, () => {
    refused += 1
  })
  const connect = (remoteAddress: string | undefined) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, destroyed: false, destroy: () => {} })
    socket.destroy = () => {
      if (socket.destroyed) return
      socket.destroyed = true
      socket.emit('close')
    }
    server.emit('connection', socket)
    return socket
  }
  return { connect, refusals: () => refused }
}

describe('limitAddresses', () => {
  it('closes what one address has too much, and leaves the others alone', () => {
    const { connect, refusals } = world(2)
    const opened = ['a', 'a', 'a', 'b', 'a', 'b', undefined].map((address) => connect(address).destroyed)
    expect(opened).toEqual([false, false, true, false, true, false, false])
    expect(refusals()).toBe(2)
  })

  it('gives back what was closed', () => {
    const { connect, refusals } = world(1)
    for (let count = 0; count < 100; count += 1) connect('a').destroy()
    expect(refusals()).toBe(0)
    const kept = connect('a')
    for (let count = 0; count < 3; count += 1) expect(connect('a').destroyed).toBe(true)
    kept.destroy()
    expect(connect('a').destroyed).toBe(false)
  })
})
