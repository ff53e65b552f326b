/**
 * A watch that begins at the API server and goes on from a feed as soon as the feed can take over: after the bookmark that ends
 * the initial events, or at any later event. What it began with is as recent as it was asked for, and it does not end with the
 * link if the feed knows the version it has come to.
 */
import type { ByteReader, ByteSource } from '../../http/body/byte-source.ts'
import type { DocumentFormat } from '../../kube/document-format.ts'
import type { FrameDecoder } from '../../kube/watch/frames.ts'
import { WireError } from '../../protobuf/wire-error.ts'

export interface RelayedWatchOptions {
  readonly upstream: ByteSource
  readonly format: DocumentFormat
  /** The version that it goes on from; empty where it begins with what there is, and only a bookmark says how far it is. */
  readonly fromVersion: string
  /** The rest from a feed, for one that has seen everything up to this version; undefined while that cannot be. */
  readonly takeOver: (version: string) => ByteSource | undefined
  /** Hears that the watch is over, whoever ended it. */
  readonly over: () => void
}

export class RelayedWatch implements ByteSource {
  readonly #options: RelayedWatchOptions
  readonly #decoder: FrameDecoder
  #source: ByteSource
  #reader: ByteReader | undefined
  /** Everything up to here has been passed on; empty while that is not known. */
  #version = ''
  #isTaken = false
  #isPaused = false
  #isOver = false

  constructor(options: RelayedWatchOptions) {
    this.#options = options
    this.#decoder = options.format.frames()
    this.#source = options.upstream
    this.#version = options.fromVersion
  }

  /** The feed has taken over. */
  get isTaken(): boolean {
    return this.#isTaken
  }

  read(reader: ByteReader): void {
    this.#reader = reader
    this.#options.upstream.read({
      data: (piece) => {
        if (!this.#isTaken && !this.#isOver) this.#relay(piece, reader)
      },
      end: () => {
        if (!this.#isTaken && !this.#isOver) this.#ended(undefined)
      },
      broken: (fault) => {
        if (!this.#isTaken && !this.#isOver) this.#ended(fault)
      },
    })
  }

  pause(): void {
    this.#isPaused = true
    this.#source.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#source.resume()
  }

  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#source.cancel()
    this.#options.over()
  }

  #relay(piece: Buffer, reader: ByteReader): void {
    const { format } = this.#options
    for (const frame of this.#decoder.push(piece)) {
      const bytes = format.encodeFrame(frame)
      reader.data(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
      this.#look(frame)
      // What else came with it the feed has, or will have.
      if (this.#isTaken || this.#isOver) return
    }
    const { failure } = this.#decoder
    if (failure !== undefined) this.#break(failure)
  }

  #look(frame: Uint8Array): void {
    const { walker } = this.#options.format
    try {
      const { type, object } = walker.readEvent(frame)
      if (type === 'ERROR' || (type !== 'BOOKMARK' && this.#version === '')) return
      this.#version = walker.identityOf(object).resourceVersion
    } catch (error) {
      // An event that only its reader understands.
      if (error instanceof WireError) return
      throw error
    }
    this.#takeOver()
  }

  #takeOver(): boolean {
    const rest = this.#version === '' ? undefined : this.#options.takeOver(this.#version)
    const reader = this.#reader
    if (rest === undefined || reader === undefined) return false
    this.#isTaken = true
    this.#options.upstream.cancel()
    this.#source = rest
    if (this.#isPaused) rest.pause()
    rest.read({
      data: (piece) => reader.data(piece),
      end: () => {
        this.#isOver = true
        reader.end()
      },
      broken: (fault) => {
        this.#isOver = true
        reader.broken(fault)
      },
    })
    return true
  }

  #ended(fault: Error | undefined): void {
    const broken = fault ?? this.#decoder.end()
    // The link went, perhaps within an event, of which nothing has been passed on: whoever reads does not have to notice.
    if (broken !== undefined) {
      if (!this.#takeOver()) this.#break(broken)
      return
    }
    this.#finish()
    this.#reader?.end()
  }

  #break(fault: Error): void {
    this.#finish()
    this.#reader?.broken(fault)
  }

  #finish(): void {
    this.#isOver = true
    this.#options.over()
  }
}
