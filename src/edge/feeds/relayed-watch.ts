/**
 * A watch that begins at the API server and goes on from a feed as soon as the feed can take over: after the bookmark that ends
 * the initial events, or at any later event. What it began with is as recent as it was asked for, and it does not end with the
 * link if the feed knows the version it has come to.
 */
import { Readable } from 'node:stream'
import type { DocumentFormat } from '../../kube/document-format.ts'
import type { FrameDecoder } from '../../kube/watch/frames.ts'
import { WireError } from '../../protobuf/wire-error.ts'

const RELAY_BUFFER_BYTES = 64 * 1024

export interface RelayedWatchOptions {
  readonly upstream: Readable
  readonly format: DocumentFormat
  /** Whether events tell how far it has come from the first one on: not where it begins with what there is. */
  readonly isResumed: boolean
  /** The rest from a feed, for one that has seen everything up to this version; undefined while that cannot be. */
  readonly takeOver: (version: string) => Readable | undefined
  /** Hears that the watch is over, whoever ended it. */
  readonly over: () => void
}

export class RelayedWatch extends Readable {
  readonly #options: RelayedWatchOptions
  readonly #decoder: FrameDecoder
  #source: Readable
  /** Everything up to here has been passed on; empty while that is not known. */
  #version = ''
  #isTaken = false

  constructor(options: RelayedWatchOptions) {
    super({ highWaterMark: RELAY_BUFFER_BYTES })
    this.#options = options
    this.#decoder = options.format.frames()
    this.#source = options.upstream
    this.on('error', () => {})
    this.#follow(options.upstream, (chunk) => this.#relay(chunk))
  }

  override _read(): void {
    this.#source.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#source.destroy()
    this.#options.over()
    done(error)
  }

  #follow(source: Readable, take: (chunk: Buffer) => void): void {
    source.on('data', (chunk: Buffer) => {
      if (source === this.#source) take(chunk)
    })
    source.once('end', () => {
      if (source === this.#source) this.#ended(undefined)
    })
    source.once('error', (error) => {
      if (source === this.#source) this.#ended(error)
    })
    source.pause()
  }

  #relay(chunk: Buffer): void {
    const { format } = this.#options
    let hasRoom = true
    for (const frame of this.#decoder.push(chunk)) {
      if (this.#isTaken) return
      hasRoom = this.push(format.encodeFrame(frame))
      this.#look(frame)
    }
    if (this.#decoder.failure !== undefined) this.destroy(this.#decoder.failure)
    else if (!hasRoom) this.#source.pause()
  }

  #look(frame: Uint8Array): void {
    const { walker } = this.#options.format
    try {
      const { type, object } = walker.readEvent(frame)
      if (type === 'ERROR' || (type !== 'BOOKMARK' && this.#version === '' && !this.#options.isResumed)) return
      this.#version = walker.identityOf(object).resourceVersion
      this.#tryTakeOver()
    } catch (error) {
      // An event that only its reader understands.
      if (!(error instanceof WireError)) this.destroy(error as Error)
    }
  }

  #tryTakeOver(): boolean {
    const rest = this.#version === '' ? undefined : this.#options.takeOver(this.#version)
    if (rest === undefined) return false
    const before = this.#source
    this.#isTaken = true
    this.#source = rest
    before.destroy()
    this.#follow(rest, (chunk) => {
      if (!this.push(chunk)) rest.pause()
    })
    rest.resume()
    return true
  }

  #ended(error: Error | undefined): void {
    const isBetween = this.#isTaken || this.#decoder.end() === undefined
    // The link went: whoever reads does not have to notice.
    if (error !== undefined && !this.#isTaken && isBetween && this.#tryTakeOver()) return
    if (error === undefined && isBetween) this.push(null)
    else this.destroy(error ?? this.#decoder.end() ?? new Error('the watch was cut'))
  }
}
