/** Our session with hashicorp/yamux at the other end, in both roles. Needs Go; says so where it is missing. */
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { Carrier, CarrierListener } from '../../src/tunnel/carrier.ts'
import { SocketCarrier } from '../../src/tunnel/socket-carrier.ts'
import { INITIAL_WINDOW_BYTES } from '../../src/tunnel/yamux/wire.ts'
import { buildPeer, type GoSession, pattern, startSession, sumOf, textOf } from './yamux-peer.ts'

const built = buildPeer()
const missing = 'missing' in built ? built.missing : undefined
const program = 'program' in built ? built.program : ''
const MiB = 1024 * 1024

describe.skipIf(missing !== undefined)(
  `hashicorp/yamux${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    let session: GoSession
    afterEach(() => session.stop())
    afterAll(() => 'remove' in built && built.remove())

    describe.each(['client', 'server'] as const)('as the %s', (goRole) => {
      it('echoes a stream of ours and keeps the half that is open', async () => {
        session = await startSession(program, goRole)
        const stream = session.command('echo')
        stream.end(pattern(100_000))
        expect((await buffer(stream)).equals(pattern(100_000))).toBe(true)
      })

      it('answers after our end only, so half-close is kept', async () => {
        session = await startSession(program, goRole)
        const stream = session.command('sum')
        stream.end('all of it')
        expect(await textOf(stream)).toBe(sumOf(Buffer.from('all of it')))
      })

      it('moves 16 streams of 8 MiB side by side with equal checksums', async () => {
        session = await startSession(program, goRole)
        const bytes = pattern(8 * MiB)
        const sums = await Promise.all(
          Array.from({ length: 16 }, () => {
            const stream = session.command('sum')
            stream.end(bytes)
            return textOf(stream)
          }),
        )
        expect(new Set(sums)).toEqual(new Set([sumOf(bytes)]))
        expect(session.driver.streamCount).toBe(0)
      })

      it('receives 16 streams of 8 MiB side by side', async () => {
        session = await startSession(program, goRole)
        const got = await Promise.all(Array.from({ length: 16 }, () => buffer(session.command(`send ${8 * MiB}`))))
        expect(new Set(got.map(sumOf))).toEqual(new Set([sumOf(pattern(8 * MiB))]))
      })

      it('opens 300 streams at once, more than its own backlog, and gets each echoed', async () => {
        session = await startSession(program, goRole)
        expect(await textOf(session.command('open 300 20000'))).toBe('same')
      })

      it('measures a round trip, and so do we', async () => {
        session = await startSession(program, goRole)
        expect(await textOf(session.command('ping'))).toBe('true <nil>')
        expect(session.driver.rttMs).toBeGreaterThan(0)
      })

      it('resets a stream of ours; others go on', async () => {
        session = await startSession(program, goRole, { closeTimeout: '200ms' })
        const leaving = session.command('leave')
        leaving.resume()
        const error = await new Promise<Error>((resolve) => leaving.once('error', resolve))
        expect(error).toMatchObject({ name: 'StreamError', code: 'reset-by-peer' })
        const other = session.command('echo')
        other.end('still here')
        expect(await textOf(other)).toBe('still here')
      })

      it('takes our reset, and whatever it had under way does no harm', async () => {
        session = await startSession(program, goRole)
        const sending = session.command(`send ${64 * MiB}`)
        await new Promise((resolve) => sending.once('data', resolve))
        sending.destroy()
        const other = session.command('echo')
        other.end('still here')
        expect(await textOf(other)).toBe('still here')
        expect(session.driver.error).toBeUndefined()
      })

      it('goes away: what is open goes on, new streams are refused here', async () => {
        session = await startSession(program, goRole)
        const open = session.command('echo')
        expect(await textOf(session.command('goaway'))).toBe('<nil>')
        await session.goneAway
        expect(() => session.driver.open()).toThrow(expect.objectContaining({ code: 'going-away' }))
        open.end('last words')
        expect(await textOf(open)).toBe('last words')
      })

      it('is sent away by us: its new streams are refused, what is open is drained, then the session ends', async () => {
        session = await startSession(program, goRole)
        const open = session.command('open 1 1000')
        session.driver.goAway(60_000)
        expect(await textOf(open)).toMatch(/^(open: remote end is not accepting connections|read: connection reset)$/)
        expect(await session.ended).toMatchObject({ code: 'closed' })
      })

      it('stalls one reader at its window of 4 MiB while another stream works', async () => {
        session = await startSession(program, goRole)
        const stalled = session.command('stall')
        stalled.on('error', () => {})
        for (let sent = 0; sent < 16; sent++) stalled.write(pattern(MiB))
        const working = session.command('sum')
        working.end(pattern(4 * MiB))
        expect(await textOf(working)).toBe(sumOf(pattern(4 * MiB)))
        expect(stalled.writableLength).toBeGreaterThan(8 * MiB)
      })

      it('is given larger windows when the link is long', async () => {
        session = await startSession(program, goRole, { carrierOf: (socket) => new LongCarrier(socket, 20) })
        const stream = session.command(`send ${24 * MiB}`)
        let largest = 0
        stream.on('data', () => {
          largest = Math.max(largest, stream.windowBytes)
        })
        const got = await buffer(stream)
        expect(sumOf(got)).toBe(sumOf(pattern(24 * MiB)))
        expect(largest).toBeGreaterThanOrEqual(4 * INITIAL_WINDOW_BYTES)
      })
    })
  },
)

/** A carrier over a link on which bytes take a while, each way. */
class LongCarrier implements Carrier {
  readonly description = 'tcp over a long link'
  readonly #inner: SocketCarrier
  readonly #delayMs: number

  constructor(socket: Socket, delayMs: number) {
    this.#inner = new SocketCarrier(socket, this.description)
    this.#delayMs = delayMs
  }

  start(listener: CarrierListener): void {
    this.#inner.start({
      onBytes: (chunk) => void setTimeout(() => listener.onBytes(chunk), this.#delayMs),
      onDrain: () => listener.onDrain(),
      onClose: (error) => void setTimeout(() => listener.onClose(error), this.#delayMs),
    })
  }

  send(buffers: readonly Uint8Array[]): boolean {
    setTimeout(() => this.#inner.send(buffers), this.#delayMs)
    return true
  }

  pause(): void {
    this.#inner.pause()
  }

  resume(): void {
    this.#inner.resume()
  }

  close(): void {
    setTimeout(() => this.#inner.close(), this.#delayMs)
  }

  destroy(): void {
    this.#inner.destroy()
  }
}
