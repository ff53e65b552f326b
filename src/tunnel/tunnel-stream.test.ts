import { pipeline } from 'node:stream/promises'
import { describe, expect, it } from 'vitest'
import { collect, collectText, type DrivenOptions, drive, settled } from '../../test/worlds/yamux-drivers.ts'
import { memoryCarriers } from '../../test/worlds/yamux-wire-carrier.ts'
import type { TunnelStream } from './tunnel-stream.ts'

const MiB = 1024 * 1024

function connect(options?: DrivenOptions) {
  const [near, far] = memoryCarriers()
  return { ...drive(near, far, options), near, far }
}

/** Opens a stream and waits until the other end has it. */
async function openPair(options?: DrivenOptions) {
  const connection = connect(options)
  const near = connection.client.driver.open()
  await settled()
  const far = connection.server.incoming[0]!
  for (const stream of [near, far]) stream.on('error', () => {})
  return { ...connection, nearStream: near, farStream: far }
}

const failure = (stream: TunnelStream): Promise<Error> => new Promise((resolve) => stream.once('error', resolve))

describe('TunnelStream', () => {
  it('is echoed by the plainest of servers', async () => {
    const { client } = connect({ serve: (stream) => void stream.pipe(stream) })
    const stream = client.driver.open()
    const sent = Buffer.alloc(5 * MiB).map((_, index) => index * 13)
    stream.end(sent)
    expect((await collect(stream)).equals(sent)).toBe(true)
    await settled()
    expect(client.driver.streamCount).toBe(0)
    expect(client.budget.bufferedBytes).toBe(0)
  })

  it('keeps the other direction open after an end', async () => {
    const { nearStream, farStream } = await openPair()
    nearStream.end('question')
    expect(await collectText(farStream)).toBe('question')
    farStream.end('answer')
    expect(await collectText(nearStream)).toBe('answer')
  })

  it('resets the other end when destroyed, in either direction', async () => {
    const { nearStream, farStream, client, server } = await openPair()
    farStream.on('data', () => {})
    const failed = failure(farStream)
    nearStream.destroy()
    expect(await failed).toMatchObject({ code: 'reset-by-peer' })
    expect(farStream.destroyed).toBe(true)
    await settled()
    expect([client.driver.streamCount, server.driver.streamCount]).toEqual([0, 0])
  })

  it('is not reset by the destruction that follows a good end, however much is still unsent', async () => {
    const { nearStream, farStream, near } = await openPair()
    near.isHeld = true
    nearStream.resume()
    farStream.end()
    await settled()
    nearStream.end(Buffer.alloc(200_000))
    await settled()
    expect(nearStream.destroyed).toBe(true)
    near.release()
    expect((await collect(farStream)).length).toBe(200_000)
  })

  it('stops a writer while the reader does not read, and lets it go on when it does', async () => {
    const { nearStream, farStream, server } = await openPair()
    let written = 0
    const chunk = Buffer.alloc(64 * 1024)
    const fill = (): void => {
      while (written < 8 * MiB && nearStream.write(chunk)) written += chunk.length
      written += chunk.length
    }
    nearStream.on('drain', fill)
    fill()
    await settled()
    expect(written).toBeLessThan(MiB)
    expect(server.budget.bufferedBytes).toBeLessThanOrEqual(256 * 1024)
    let read = 0
    farStream.on('data', (data: Buffer) => {
      read += data.length
    })
    await settled()
    await settled()
    expect(read).toBeGreaterThan(4 * MiB)
  })

  it('hands a very large write on in slices', async () => {
    const { nearStream, client } = await openPair()
    nearStream.write(Buffer.alloc(64 * MiB))
    await settled()
    expect(client.budget.bufferedBytes).toBeLessThan(MiB)
  })

  it('works with pipeline', async () => {
    const { nearStream, farStream } = await openPair()
    const piped = pipeline([Buffer.alloc(MiB), Buffer.alloc(MiB)], nearStream)
    expect((await collect(farStream)).length).toBe(2 * MiB)
    farStream.end()
    nearStream.resume()
    await piped
  })

  it('fails a write that waits when the session ends', async () => {
    const { nearStream, client } = await openPair()
    nearStream.on('error', () => {})
    const result = new Promise<Error | null | undefined>((resolve) => {
      nearStream.write(Buffer.alloc(2 * MiB), resolve)
    })
    await settled()
    client.driver.close()
    expect(await result).toMatchObject({ code: 'session-ended' })
  })
})
