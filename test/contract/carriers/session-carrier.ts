/** What every carrier has to do. A test file hands a factory to this suite. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Carrier } from '../../../src/tunnel/carrier.ts'
import { collect, drive, settled } from '../../worlds/yamux-drivers.ts'

export interface CarrierPair {
  readonly near: Carrier
  readonly far: Carrier
  /** Ends whatever the factory started. */
  stop(): Promise<void> | void
}

/** Records what a carrier reports. */
class Recorder {
  readonly chunks: Uint8Array[] = []
  readonly closes: (Error | undefined)[] = []
  drains = 0
  readonly closed: Promise<void>
  #onClosed: () => void = () => {}
  #onBytes: () => void = () => {}

  constructor(carrier: Carrier) {
    this.closed = new Promise((resolve) => {
      this.#onClosed = resolve
    })
    carrier.start({
      onBytes: (chunk) => {
        this.chunks.push(chunk)
        this.#onBytes()
      },
      onDrain: () => {
        this.drains += 1
        this.#onBytes()
      },
      onClose: (error) => {
        this.closes.push(error)
        this.#onClosed()
      },
    })
  }

  get bytes(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  }

  /** Waits until something that was reported makes `condition` true. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#onBytes = () => {
        if (condition()) resolve()
      }
      this.#onBytes()
    })
  }
}

const pattern = (bytes: number): Buffer =>
  Buffer.from(new Uint8Array(bytes).map((_, index) => index * 7 + (index >> 8)))

export function describeCarrier(name: string, connect: () => Promise<CarrierPair>): void {
  describe(`carrier: ${name}`, () => {
    let pair: CarrierPair
    afterEach(() => pair.stop())

    it('delivers bytes in order, whatever they were cut into', async () => {
      pair = await connect()
      const [near, far] = [new Recorder(pair.near), new Recorder(pair.far)]
      const sent = pattern(300_000)
      let offset = 0
      for (let size = 1; offset < sent.length; size *= 2) {
        const end = offset + size
        pair.near.send([sent.subarray(offset, offset + 1), sent.subarray(offset + 1, end)])
        offset = end
      }
      await far.until(() => far.bytes >= sent.length)
      expect(Buffer.concat(far.chunks).equals(sent)).toBe(true)
      expect(near.chunks).toEqual([])
    })

    it('delivers nothing before it is started, and everything afterwards', async () => {
      pair = await connect()
      const near = new Recorder(pair.near)
      pair.near.send([Buffer.from('early')])
      await settled()
      const far = new Recorder(pair.far)
      await far.until(() => far.bytes >= 5)
      expect(Buffer.concat(far.chunks).toString()).toBe('early')
      expect(near.closes).toEqual([])
    })

    it('asks to wait when it cannot keep up, and says when to go on', async () => {
      pair = await connect()
      const near = new Recorder(pair.near)
      const far = new Recorder(pair.far)
      const chunk = pattern(1024 * 1024)
      let sent = 0
      while (sent < 64) {
        sent += 1
        if (!pair.near.send([chunk])) break
      }
      expect(sent).toBeLessThan(64)
      await near.until(() => near.drains > 0)
      await far.until(() => far.bytes >= sent * chunk.length)
    })

    it('closes after everything that was sent, and says so once on both sides', async () => {
      pair = await connect()
      const [near, far] = [new Recorder(pair.near), new Recorder(pair.far)]
      pair.near.send([pattern(2_000_000)])
      pair.near.close()
      await Promise.all([near.closed, far.closed])
      await settled()
      expect(far.bytes).toBe(2_000_000)
      expect([near.closes, far.closes]).toEqual([[undefined], [undefined]])
    })

    it('is destroyed at once; sending afterwards does nothing', async () => {
      pair = await connect()
      const [near, far] = [new Recorder(pair.near), new Recorder(pair.far)]
      pair.near.destroy()
      await Promise.all([near.closed, far.closed])
      expect(pair.near.send([Buffer.from('late')])).toBe(false)
      pair.near.close()
      pair.near.destroy()
      await settled()
      expect([near.closes.length, far.closes.length]).toEqual([1, 1])
    })

    it('says so when it was closed before it was started', async () => {
      pair = await connect()
      const near = new Recorder(pair.near)
      pair.near.destroy()
      await near.closed
      const far = new Recorder(pair.far)
      await far.closed
      expect(far.closes.length).toBe(1)
    })

    it('says what it is', async () => {
      pair = await connect()
      expect(pair.near.description).not.toBe('')
    })

    it('carries a session with eight streams each way', async () => {
      pair = await connect()
      const { client, server } = drive(pair.near, pair.far, { serve: (stream) => void stream.pipe(stream) })
      const sent = pattern(700_000)
      const echoes = Array.from({ length: 8 }, () => {
        const stream = client.driver.open()
        stream.end(sent)
        return collect(stream)
      })
      for (const echo of await Promise.all(echoes)) expect(echo.equals(sent)).toBe(true)
      client.driver.close()
      expect(await server.ended).toMatchObject({ code: 'closed' })
    })
  })
}
