/**
 * The body of a watch: events, each edited on its own and sent on at once. Bookmarks, also the one that ends the initial
 * events of a streaming list, and errors pass. Of an object that is dropped the client hears that it is DELETED.
 */
import { type Readable, Transform, type TransformCallback } from 'node:stream'
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

export class WatchBody extends Transform {
  readonly #options: WatchBodyOptions
  readonly #decoder: ReturnType<DocumentFormat['frames']>
  #source: Readable | undefined
  #expiry: string | undefined

  constructor(options: WatchBodyOptions) {
    super()
    this.#options = options
    this.#decoder = options.format.frames()
  }

  get isExpired(): boolean {
    return this.#expiry !== undefined
  }

  /** Takes its bytes from `source`. Whichever of the two breaks or is destroyed takes the other with it. */
  readFrom(source: Readable): void {
    this.#source = source
    source.pipe(this)
    source.once('error', (error) => this.destroy(error))
    source.once('close', () => {
      if (!source.readableEnded && this.#expiry === undefined) this.destroy(new Error('the watch was cut upstream'))
    })
    this.once('close', () => source.destroy())
  }

  /** Ends the stream after the events that are in with an ERROR of 410 Expired: clients start over with a list. */
  expire(message: string): void {
    this.#expiry ??= message
    this.#source?.unpipe(this)
    this.end()
    this.#source?.destroy()
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let bytes: Uint8Array
    try {
      bytes = this.#filtered(chunk)
    } catch (error) {
      // Thrown into the stream, a defect of one filter would end the whole process; so it ends this watch.
      done(error as Error)
      return
    }
    // A failure is an event larger than client-go reads, too: ended here, or there.
    done(this.#decoder.failure, bytes)
  }

  /** An upstream that ends inside an event was cut, and so is this. */
  override _flush(done: TransformCallback): void {
    if (this.#expiry === undefined) {
      done(this.#decoder.end())
      return
    }
    const { format } = this.#options
    const status = format.encodeStatus(resourceExpired(this.#expiry).status)
    done(null, format.encodeFrame(format.walker.writeEvent('ERROR', status)))
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
