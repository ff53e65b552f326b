/** What every carrier has to do beyond the basics of yamux-carrier.ts: volume, pressure, random pieces, and ends. */
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import type { Carrier } from '../../../src/tunnel/carrier.ts'
import { settled } from '../../worlds/yamux-drivers.ts'
import { type CarrierPair, describeCarrier } from './session-carrier.ts'

/**
 * What the kernel, TLS and the streams of both ends hold together when nobody reads, with a proxy in between and large buffers of
 * sockets as some kernels have them; far below what the test offers.
 */
const MAX_IN_FLIGHT_BYTES = 64 * 1024 * 1024
const MEBIBYTE = 1024 * 1024

/** A pair whose way in between can be cut without a farewell. */
export interface CuttablePair extends CarrierPair {
  cut(): void
}

/** Takes what arrives without keeping it: the position and a running checksum say whether anything is out of place. */
class Sink {
  bytes = 0
  sum = 0
  readonly closes: (Error | undefined)[] = []
  readonly closed: Promise<void>
  #resolveClosed: () => void = () => {}
  #wake: () => void = () => {}
  drains = 0

  constructor(carrier: Carrier) {
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
    carrier.start({
      onBytes: (chunk) => {
        this.sum = checksum(this.sum, chunk)
        this.bytes += chunk.length
        this.#wake()
      },
      onDrain: () => {
        this.drains++
        this.#wake()
      },
      onClose: (error) => {
        this.closes.push(error)
        this.#wake()
        this.#resolveClosed()
      },
    })
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

function checksum(sum: number, bytes: Uint8Array): number {
  let next = sum
  for (const byte of bytes) next = (Math.imul(next, 31) + byte) | 0
  return next
}

/** Sends all, waiting whenever the carrier asks for it. */
async function sendAll(carrier: Carrier, sink: Sink, batches: Iterable<readonly Uint8Array[]>): Promise<void> {
  for (const batch of batches) {
    const drains = sink.drains
    if (!carrier.send(batch)) await sink.until(() => sink.drains > drains || sink.closes.length > 0)
  }
}

export function describeCarrierFully(name: string, connect: () => Promise<CuttablePair>): void {
  describeCarrier(name, connect)
  describe(`carrier under load: ${name}`, () => {
    let pair: CuttablePair
    afterEach(() => pair.stop())

    it('keeps the bytes in order, in both directions at once, in whatever pieces they are sent', async () => {
      const piece = fc.uint8Array({ maxLength: 3_000 })
      const batches = fc.array(fc.array(piece, { maxLength: 12 }), { maxLength: 20 })
      pair = await connect()
      const sinks = [new Sink(pair.near), new Sink(pair.far)] as const
      const nothing = (): { bytes: number; sum: number } => ({ bytes: 0, sum: 0 })
      const totals = [nothing(), nothing()] as const
      await fc.assert(
        fc.asyncProperty(batches, batches, async (toFar, toNear) => {
          for (const [total, sent] of [[totals[0], toNear] as const, [totals[1], toFar] as const]) {
            for (const bytes of sent.flat()) {
              total.bytes += bytes.length
              total.sum = checksum(total.sum, bytes)
            }
          }
          await Promise.all([sendAll(pair.near, sinks[0], toFar), sendAll(pair.far, sinks[1], toNear)])
          await Promise.all(sinks.map((sink, index) => sink.until(() => sink.bytes >= (totals[index]?.bytes ?? 0))))
          expect(sinks.map(({ bytes, sum }) => ({ bytes, sum }))).toEqual(totals)
        }),
        { numRuns: 30 },
      )
    })

    it('moves 32 MiB and closes without losing a byte', async () => {
      pair = await connect()
      const [near, far] = [new Sink(pair.near), new Sink(pair.far)]
      const block = Buffer.from(new Uint8Array(MEBIBYTE).map((_, index) => (index * 31) >> 4))
      const batch = [block.subarray(0, 12), block.subarray(12, 200_000), block.subarray(200_000)]
      await sendAll(
        pair.near,
        near,
        Array.from({ length: 32 }, () => batch),
      )
      pair.near.close()
      await Promise.all([near.closed, far.closed])
      let sum = 0
      for (let count = 0; count < 32; count++) sum = checksum(sum, block)
      expect([far.bytes, far.sum]).toEqual([32 * MEBIBYTE, sum])
      expect([near.closes, far.closes]).toEqual([[undefined], [undefined]])
    })

    it('takes a bounded number of bytes while the far end does not read, and all of them afterwards', async () => {
      pair = await connect()
      const near = new Sink(pair.near)
      const block = Buffer.alloc(256 * 1024, 5)
      let sent = 0
      while (sent < 2 * MAX_IN_FLIGHT_BYTES) {
        const drains = near.drains
        sent += block.length
        if (pair.near.send([block])) continue
        for (let turn = 0; turn < 10 && near.drains === drains; turn++) await settled()
        if (near.drains === drains) break
      }
      expect(sent).toBeLessThan(MAX_IN_FLIGHT_BYTES)
      const far = new Sink(pair.far)
      await far.until(() => far.bytes >= sent)
      expect(far.bytes).toBe(sent)
    })

    it('destroys what has not been sent', async () => {
      pair = await connect()
      const near = new Sink(pair.near)
      for (let count = 0; count < 64 && pair.near.send([Buffer.alloc(MEBIBYTE)]); count++) {}
      pair.near.destroy()
      await near.closed
      const far = new Sink(pair.far)
      await far.closed
      expect([near.closes.length, far.closes.length]).toEqual([1, 1])
    })

    it('notices on both ends when the way in between is cut', async () => {
      pair = await connect()
      const [near, far] = [new Sink(pair.near), new Sink(pair.far)]
      pair.near.send([Buffer.from('before')])
      await far.until(() => far.bytes === 6)
      pair.cut()
      await Promise.all([near.closed, far.closed])
      expect(pair.near.send([Buffer.from('after')])).toBe(false)
      await settled()
      expect([near.closes.length, far.closes.length, far.bytes]).toEqual([1, 1, 6])
    })

    it('lets both ends close at the same time', async () => {
      pair = await connect()
      const [near, far] = [new Sink(pair.near), new Sink(pair.far)]
      pair.near.send([Buffer.from('to far')])
      pair.far.send([Buffer.from('to near!')])
      pair.near.close()
      pair.far.close()
      await Promise.all([near.closed, far.closed])
      expect([near.bytes, far.bytes, near.closes.length, far.closes.length]).toEqual([8, 6, 1, 1])
    })
  })
}
