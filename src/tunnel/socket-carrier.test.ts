import { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { SocketCarrier } from './socket-carrier.ts'

describe('SocketCarrier', () => {
  it('hands all buffers of a call to the system in one gathered write, without copies', () => {
    const writes: Uint8Array[][] = []
    const socket = new Duplex({
      read: () => {},
      writev: (chunks, done) => {
        writes.push(chunks.map(({ chunk }) => chunk as Uint8Array))
        done()
      },
    })
    const buffers = [Buffer.from('one'), Buffer.from('two'), Buffer.from('three')]
    new SocketCarrier(socket, 'pipe').send(buffers)
    expect(writes).toHaveLength(1)
    expect(writes[0]?.every((chunk, index) => chunk === buffers[index])).toBe(true)
  })

  it('survives a connection that breaks before it is started, and says why', async () => {
    const socket = new Duplex({ read: () => {} })
    const carrier = new SocketCarrier(socket, 'pipe')
    socket.destroy(new Error('cable pulled'))
    await new Promise(setImmediate)
    const error = await new Promise<Error | undefined>((onClose) => {
      carrier.start({ onBytes: () => {}, onDrain: () => {}, onClose })
    })
    expect(error?.message).toBe('cable pulled')
  })
})
