/**
 * Bodies that are filtered as a whole, gets and lists: held in memory until they are complete, within a limit for each and
 * one for all. A body that is too large passes as it is, since refusing it would leave its client without any; where
 * others hold the memory the client is told to come again, since one wrong list could stay with it for hours.
 */
import { Readable } from 'node:stream'
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

/** So that a slow client holds back the rest of a large body. */
const sliceBytes = 64 * 1024

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

/** What is in memory of a body, and the rest of it if that was too much. */
export class HeldBody {
  readonly #chunks: Buffer[] = []
  readonly #memory: HeldMemory
  readonly #source: Readable
  readonly #rest: AsyncIterator<Buffer>
  #bytes = 0
  #isWhole = false

  constructor(source: Readable, contentEncoding: string, memory: HeldMemory) {
    this.#source = source
    this.#memory = memory
    this.#rest = decompressed(source, contentEncoding)[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Everything that is held, in one piece. */
  take(): Buffer {
    const [first, second] = this.#chunks
    const whole = first !== undefined && second === undefined ? first : Buffer.concat(this.#chunks)
    this.#chunks.length = 0
    return whole
  }

  /**
   * Reads to the end or beyond the limit. False where the memory is taken; rejects with what broke the body. In both cases
   * nothing is held any more.
   */
  async read(maxBytes: number): Promise<boolean> {
    let isRead = false
    try {
      do isRead = await this.#readOne()
      while (isRead && !this.#isWhole && this.#bytes <= maxBytes)
      return isRead
    } finally {
      if (!isRead) this.release()
    }
  }

  /** What is held and then what is still to come. To destroy it is to release all of it, also while upstream is silent. */
  replay(): Readable {
    const body = new Readable({
      read: () => {
        this.#next().then(
          (chunk) => body.push(chunk ?? null),
          (error: unknown) => body.destroy(error as Error),
        )
      },
      destroy: (error, done) => {
        this.release()
        done(error)
      },
    })
    return body
  }

  /** Gives back the memory and leaves what has not been read. */
  release(): void {
    this.#memory.giveBack(this.#bytes)
    this.#bytes = 0
    this.#chunks.length = 0
    this.#source.destroy()
  }

  async #next(): Promise<Buffer | undefined> {
    const chunk = this.#chunks.shift()
    if (chunk !== undefined) return chunk
    const next = await this.#rest.next()
    return next.done === true ? undefined : next.value
  }

  /** False where there is no memory for what came. */
  async #readOne(): Promise<boolean> {
    const next = await this.#rest.next()
    this.#isWhole = next.done === true
    if (next.done === true) return true
    if (!this.#memory.take(next.value.length)) return false
    this.#bytes += next.value.length
    this.#chunks.push(next.value)
    return true
  }
}

/** Sends a body, compressed where kube-apiserver would have done so. `whole` is its length where that is known. */
export function sendBody(body: Readable, head: AnswerHead, status: number, whole: number | undefined): FilteredBody {
  const isLarge = whole === undefined || whole > COMPRESSION_THRESHOLD_BYTES
  if (!isLarge || !acceptsGzip(head.acceptEncoding)) return { status, contentEncoding: '', contentLength: whole, body }
  return { status, contentEncoding: 'gzip', contentLength: undefined, body: compressed(body) }
}

/** The bytes in slices, each when it is asked for. */
export function readableOf(bytes: Uint8Array): Readable {
  let sent = 0
  return new Readable({
    read() {
      this.push(bytes.subarray(sent, sent + sliceBytes))
      sent += sliceBytes
      if (sent >= bytes.length) this.push(null)
    },
  })
}
