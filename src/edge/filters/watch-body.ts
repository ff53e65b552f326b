/**
 * The body of a watch: events, each edited on its own and sent on at once. Bookmarks, also the one that ends the initial
 * events of a streaming list, and errors pass. Of an object that is dropped the client hears that it is DELETED.
 */
import type { ByteReader, ByteSource } from '../../http/body/byte-source.ts'
import type { DocumentFormat } from '../../kube/document-format.ts'
import { resourceExpired } from '../../kube/status/request-errors.ts'
import type { DocumentWalker } from '../../kube/walker/walker.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { FilterMetrics } from './filter-metrics.ts'
import { filterObject } from './object-body.ts'
import type { ObjectJudge } from './object-judge.ts'

export interface WatchBodyOptions {
  readonly format: DocumentFormat
  readonly judge: ObjectJudge
  readonly metrics: Pick<FilterMetrics, 'passed'>
  /** Called for events that pass as they are because they could not be read. */
  readonly undecodable: (error: WireError) => void
}

export class WatchBody implements ByteSource {
  readonly #source: ByteSource
  readonly #options: WatchBodyOptions
  readonly #decoder: ReturnType<DocumentFormat['frames']>
  #reader: ByteReader | undefined
  #expiry: string | undefined
  #isPaused = false
  #isOver = false
  #whenOver = (): void => {}

  constructor(source: ByteSource, options: WatchBodyOptions) {
    this.#source = source
    this.#options = options
    this.#decoder = options.format.frames()
  }

  get isExpired(): boolean {
    return this.#expiry !== undefined
  }

  /** Called once, when it has ended, broken or been given up. */
  whenOver(listener: () => void): void {
    this.#whenOver = listener
  }

  read(reader: ByteReader): void {
    this.#reader = reader
    if (this.#expiry !== undefined) {
      this.#tellExpiry()
      return
    }
    this.#source.read({
      data: (piece) => this.#pass(piece),
      // One that ends inside an event was cut, and so is this.
      end: () => this.#end(this.#decoder.end()),
      broken: (fault) => this.#end(fault),
    })
  }

  pause(): void {
    this.#isPaused = true
    if (this.#expiry === undefined) this.#source.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#expiry === undefined) this.#source.resume()
    else this.#tellExpiry()
  }

  cancel(): void {
    this.#over()
    this.#source.cancel()
  }

  /** Ends after the events that have passed with an ERROR of 410 Expired: clients start over with a list. */
  expire(message: string): void {
    if (this.#isOver || this.#expiry !== undefined) return
    this.#expiry = message
    this.#source.cancel()
    this.#tellExpiry()
  }

  /** Once there is a reader that takes it. */
  #tellExpiry(): void {
    if (this.#isPaused || this.#reader === undefined || this.#expiry === undefined) return
    const { format } = this.#options
    const status = format.encodeStatus(resourceExpired(this.#expiry).status)
    this.#reader.data(bufferOf(format.encodeFrame(format.walker.writeEvent('ERROR', status))))
    this.#end(undefined)
  }

  #pass(piece: Buffer): void {
    let bytes: Uint8Array
    try {
      bytes = this.#filtered(piece)
    } catch (error) {
      // Whoever brings the piece carries others, too: a defect of one filter ends this watch alone.
      this.#cut(error as Error)
      return
    }
    // A failure is an event larger than client-go reads, too: ended here, or there.
    if (this.#decoder.failure !== undefined) this.#cut(this.#decoder.failure)
    else if (bytes.length > 0) this.#reader?.data(bufferOf(bytes))
  }

  #cut(fault: Error): void {
    this.#source.cancel()
    this.#end(fault)
  }

  #end(fault: Error | undefined): void {
    const reader = this.#over()
    if (fault === undefined) reader?.end()
    else reader?.broken(fault)
  }

  #over(): ByteReader | undefined {
    const reader = this.#reader
    this.#reader = undefined
    if (!this.#isOver) {
      this.#isOver = true
      this.#whenOver()
    }
    return reader
  }

  #filtered(chunk: Buffer): Uint8Array {
    const { format, metrics } = this.#options
    const frames = this.#decoder.push(chunk).map((event) => format.encodeFrame(this.#filter(event)))
    const [first] = frames
    const bytes = first !== undefined && frames.length === 1 ? first : Buffer.concat(frames)
    metrics.passed(chunk.length, bytes.length)
    return bytes
  }

  #filter(event: Uint8Array): Uint8Array {
    const { format, judge, undecodable } = this.#options
    if (judge.isIdle) return event
    try {
      return filterEvent(format.walker, event, judge)
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      undecodable(error)
      return event
    }
  }
}

function filterEvent(walker: DocumentWalker, event: Uint8Array, judge: ObjectJudge): Uint8Array {
  const { type, object } = walker.readEvent(event)
  if (type === 'BOOKMARK' || type === 'ERROR') return event
  const filtered = filterObject(walker, object, judge)
  if (filtered === object) return event
  if (filtered !== null) return walker.writeEvent(type, filtered)
  return type === 'DELETED' ? event : walker.writeEvent('DELETED', object)
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
