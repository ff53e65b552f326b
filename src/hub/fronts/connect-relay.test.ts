import type { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { CONNECT_EDGE, ESTABLISHED, eventually, startFront } from '../../../test/worlds/front-world.ts'
import { drive } from '../../../test/worlds/yamux-drivers.ts'
import { duplexPair } from '../../../test/worlds/yamux-duplex-pair.ts'
import { memoryCarriers } from '../../../test/worlds/yamux-wire-carrier.ts'

interface Ends {
  /** What a route brings. */
  readonly stream: Duplex
  readonly far: Duplex
  readonly breakFar: () => void
}

const kinds: [string, () => Promise<Ends>][] = [
  ['a stream of a session', sessionStream],
  ['any other stream', otherStream],
]

async function sessionStream(): Promise<Ends> {
  const [near, remote] = memoryCarriers()
  return await new Promise((resolve) => {
    const { client } = drive(near, remote, {
      serve: (far) => {
        far.accept()
        far.on('error', () => {})
        resolve({ stream, far, breakFar: () => far.destroy() })
      },
    })
    const stream = client.driver.open()
  })
}

async function otherStream(): Promise<Ends> {
  const [stream, far] = duplexPair()
  return { stream, far, breakFar: () => stream.destroy(new Error('the agent went away')) }
}

describe.each(kinds)('a client joined with %s', (_kind, open) => {
  async function joined() {
    const ends = await open()
    const front = await startFront({ dial: async () => ({ node: 'edge-1', stream: ends.stream }) })
    const client = await front.dial()
    client.socket.write(CONNECT_EDGE)
    await eventually(() => expect(client.received).toBe(ESTABLISHED))
    client.socket.write('!')
    return { ...ends, client, openCount: () => front.count('causeway_hub_front_connections') }
  }

  it('passes bytes and ends, each direction by itself', async () => {
    const { client, far, openCount } = await joined()
    const sent = Buffer.alloc(2 * 1024 * 1024).map((_, index) => index * 7)
    const heard: Buffer[] = []
    let hasHeardAll = false
    far
      .on('data', (chunk: Buffer) => heard.push(chunk))
      .on('end', () => {
        hasHeardAll = true
      })
    client.socket.end(sent)
    await eventually(() => expect(hasHeardAll).toBe(true))
    expect(Buffer.concat(heard).subarray(1).equals(sent)).toBe(true)
    far.end(sent)
    await eventually(() => expect(client.hasEnded).toBe(true))
    expect(client.received.length).toBe(ESTABLISHED.length + sent.length)
    await eventually(async () => expect(await openCount()).toBe(0))
  })

  it('is cut off when the far end breaks', async () => {
    const { client, breakFar, openCount } = await joined()
    breakFar()
    await eventually(() => expect(client.hasEnded || client.socket.destroyed).toBe(true))
    await eventually(async () => expect(await openCount()).toBe(0))
  })

  it('breaks the far end when it goes in the middle', async () => {
    const { client, far, openCount } = await joined()
    far.resume()
    client.socket.destroy()
    far.write('x')
    await eventually(async () => {
      if (!far.destroyed) far.write('x')
      expect(await openCount()).toBe(0)
    })
  })
})
