/**
 * Bodies that are filtered as a whole, gets and lists: held in memory until they are complete, within a limit for each and
 * one for all. A body that is too large passes as it is, since refusing it would leave its client without any; where
 * others hold the memory the client is told to come again, since one wrong list could stay with it for hours.
 */
import type { ByteReader, ByteSource } from '../../http/body/byte-source.ts'
import { acceptsGzip, COMPRESSION_THRESHOLD_BYTES } from '../../kube/compression.ts'
import { compressed, decompressed } from './compression.ts'
import type { AnswerHead, FilteredBody } from './filter-plan.ts'

/** The kinds that are filtered take 1 to 4 KiB an object in JSON: room for more of them than one cluster may have. */
export const MAX_HELD_BODY_BYTES = 64 * 1024 * 1024

/**
 * Two of the largest, or hundreds of usual ones; what a small node can spare for a moment. Verified components have as much
 * to themselves as all that go by their User-Agent.
 */
const MAX_HELD_BODIES_BYTES = 128 * 1024 * 1024

/** A body is held for as long as it takes to arrive and to be read by a client on the same machine. */
export const HELD_BODY_RETRY_SECONDS = 1

/** The memory that all held bodies share. */
export class HeldMemory {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes = MAX_HELD_BODIES_BYTES) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** False, and nothing taken, where there is no room. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes) return false
    this.#bytes += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes
  }
}

/** How much of a body is held: all of it; more than one body may have; or nothing, because others have the memory. */
export type Held = 'all' | 'more-than-allowed' | 'none'

/** What is in memory of a body, and the rest of it if that was too much: to be held first, and then taken, read or given up. */
export class HeldBody implements ByteSource {
  readonly #source: ByteSource
  readonly #memory: HeldMemory
  readonly #pieces: Buffer[] = []
  #bytes = 0
  /** Why the source has ended; undefined while more may come. */
  #ending: 'complete' | Error | undefined
  #reader: ByteReader | undefined
  #isPaused = false
  #isGiving = false

  constructor(source: ByteSource, contentEncoding: string, memory: HeldMemory) {
    this.#source = decompressed(source, contentEncoding)
    this.#memory = memory
  }

  /** To be called once. Rejects with what broke the body; nothing is held then any more. */
  hold(maxBytes: number): Promise<Held> {
    return new Promise((resolve, reject) => {
      this.#source.read({
        data: (piece) => {
          if (this.#reader !== undefined) this.#reader.data(piece)
          else if (!this.#keep(piece)) {
            this.cancel()
            resolve('none')
          } else if (this.#bytes > maxBytes) {
            this.#source.pause()
            resolve('more-than-allowed')
          }
        },
        end: () => {
          this.#ending = 'complete'
          resolve('all')
          this.#give()
        },
        broken: (fault) => {
          this.#ending = fault
          if (this.#reader === undefined) this.cancel()
          reject(fault)
          this.#give()
        },
      })
    })
  }

  /** Everything that is held, in one piece. */
  take(): Buffer {
    const [first, second] = this.#pieces
    const whole = first !== undefined && second === undefined ? first : Buffer.concat(this.#pieces)
    this.#pieces.length = 0
    return whole
  }

  /** What is held and then what is still to come. */
  read(reader: ByteReader): void {
    this.#reader = reader
    this.#give()
  }

  pause(): void {
    this.#isPaused = true
    this.#source.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#give()
  }

  /** Gives back the memory and leaves what has not been read. */
  cancel(): void {
    this.#memory.giveBack(this.#bytes)
    this.#bytes = 0
    this.#pieces.length = 0
    this.#reader = undefined
    if (this.#ending === undefined) this.#source.cancel()
  }

  /** False where there is no memory for it. */
  #keep(piece: Buffer): boolean {
    if (!this.#memory.take(piece.length)) return false
    this.#bytes += piece.length
    this.#pieces.push(piece)
    return true
  }

  #give(): void {
    const reader = this.#reader
    if (reader === undefined || this.#isGiving) return
    this.#isGiving = true
    for (let piece = this.#next(); piece !== undefined; piece = this.#next()) reader.data(piece)
    this.#isGiving = false
    if (this.#isPaused || this.#reader === undefined) return
    const ending = this.#ending
    if (ending === undefined) this.#source.resume()
    else {
      this.cancel()
      if (ending === 'complete') reader.end()
      else reader.broken(ending)
    }
  }

  #next(): Buffer | undefined {
    return this.#isPaused ? undefined : this.#pieces.shift()
  }
}

/** Sends a body, compressed where kube-apiserver would have done so. `whole` is its length where that is known. */
export function sendBody(body: ByteSource, head: AnswerHead, status: number, whole: number | undefined): FilteredBody {
  const isLarge = whole === undefined || whole > COMPRESSION_THRESHOLD_BYTES
  if (!isLarge || !acceptsGzip(head.acceptEncoding)) return { status, contentEncoding: '', contentLength: whole, body }
  return { status, contentEncoding: 'gzip', contentLength: undefined, body: compressed(body) }
}
