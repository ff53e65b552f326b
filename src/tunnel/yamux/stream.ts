/**
 * One stream of a session, both directions. Each direction is open until its FIN; a reset ends both at once. Nothing is
 * called back before the method that caused it has left the stream in a state that stays true.
 *
 * Reading is by taking: `read` until it returns nothing, then wait for `onReadable`. What is not taken stays in this
 * stream's window and costs nobody else. Writing never fails for want of credit: `write` returns false when the writer
 * should wait for `onWritable`.
 */
import type { Account } from './budget.ts'
import { ByteQueue } from './byte-queue.ts'
import { offence, StreamError } from './errors.ts'
import type { HeaderSlab } from './header-slab.ts'
import { type SessionLimits, SMALL_CREDIT_BYTES } from './limits.ts'
import { ReceiveWindow, type WindowConditions } from './receive-window.ts'
import type { Sender } from './send-scheduler.ts'
import { Flag, FrameType, INITIAL_WINDOW_BYTES, MAX_CREDIT_BYTES } from './wire.ts'

export interface StreamHandler {
  /** There are bytes to read, or the peer has ended its direction (`isReadEnded` once all is read). */
  onReadable(): void
  /** The writer that was told to wait may go on. */
  onWritable(): void
  /** The stream is gone in both directions; unread bytes are lost. Called at most once. */
  onReset(error: StreamError): void
}

/** What a stream asks of its session. */
export interface StreamHost {
  readonly account: Account
  readonly limits: SessionLimits
  readonly headers: HeaderSlab
  /** Unsent bytes at which a writer has to wait. */
  readonly sendHighWaterBytes: number
  /** The time of the current turn, for idle times. */
  readonly turnMs: number
  conditions(): WindowConditions
  /** The stream has payload or an end to send. */
  wantsToSend(stream: Stream): void
  /** The stream has flags or credit for the next control burst. */
  wantsToAnnounce(stream: Stream): void
  sendReset(stream: Stream): void
  accepted(): void
  /** The peer has opened the stream for nothing; `what` says how, of several. */
  fruitless(what: string): void
  /** Nothing more will happen on the wire, and nothing is left to read. */
  released(stream: Stream): void
}

const deaf: StreamHandler = { onReadable() {}, onWritable() {}, onReset() {} }

export class Stream implements Sender {
  readonly id: number
  readonly openedByPeer: boolean
  readonly #host: StreamHost
  #handler: StreamHandler = deaf
  readonly #unread = new ByteQueue()
  readonly #unsent = new ByteQueue()
  readonly #window: ReceiveWindow
  #sendCreditBytes = INITIAL_WINDOW_BYTES
  /** Bytes sent for which no update has come yet, each update counted as the least it may stand for. */
  #uncreditedBytes = 0
  #peerEnded = false
  #ending = false
  #ended = false
  #error: StreamError | undefined
  #isReleased = false
  #writerWaits = false
  #isAccepted: boolean
  #pendingFlags = 0
  #pendingCreditBytes = 0
  #isAnnounced = false
  #activeMs: number
  isScheduled = false
  deficitBytes = 0
  nextSender: Sender | undefined = undefined

  constructor(host: StreamHost, id: number, openedByPeer: boolean) {
    this.#host = host
    this.id = id
    this.openedByPeer = openedByPeer
    this.#isAccepted = !openedByPeer
    this.#window = new ReceiveWindow(host.account, host.limits.maxWindowBytes)
    this.#activeMs = host.turnMs
    if (!openedByPeer) this.#announce(Flag.syn, 0)
  }

  /** Bytes held for this stream, unread and unsent. */
  get heldBytes(): number {
    return this.#unread.bytes + this.#unsent.bytes
  }

  get unreadBytes(): number {
    return this.#unread.bytes
  }

  get windowBytes(): number {
    return this.#window.sizeBytes
  }

  /** The peer has ended its direction and everything has been read. */
  get isReadEnded(): boolean {
    return this.#peerEnded && this.#unread.bytes === 0
  }

  /** Why the stream was reset, if it was. */
  get error(): StreamError | undefined {
    return this.#error
  }

  /** Frames for this stream have no effect any more. */
  get isWireClosed(): boolean {
    return this.#error !== undefined || (this.#peerEnded && this.#ended)
  }

  get activeMs(): number {
    return this.#activeMs
  }

  /** What the peer may still have under way to us. */
  get peerCreditBytes(): number {
    return this.#peerEnded ? 0 : this.#window.creditBytes
  }

  /** Who is called from now on. Bytes that are already there are not announced again: read first. */
  attach(handler: StreamHandler): void {
    this.#handler = handler
  }

  /** Tells the peer that its stream has been taken. Writing does so too. */
  accept(): void {
    if (this.#isAccepted || this.isWireClosed) return
    this.#isAccepted = true
    this.#host.accepted()
    this.#announce(Flag.ack, 0)
  }

  get isAccepted(): boolean {
    return this.#isAccepted
  }

  /** For whoever answers the stream: the peer might have known that it leads nowhere. `what` says why, of several streams. */
  countFruitless(what: string): void {
    if (this.openedByPeer) this.#host.fruitless(what)
  }

  /** The next bytes, which are the caller's to keep; `undefined` when there are none now. */
  read(): Uint8Array | undefined {
    const chunk = this.#unread.shift()
    if (chunk === undefined) return undefined
    this.#host.account.letGo(chunk.length)
    if (this.#peerEnded) this.#releaseIfDone()
    else if (this.#window.wasRead(this.#unread.bytes)) this.#sendCredit()
    return chunk
  }

  /** Takes bytes to send; they must not be changed any more. False asks the writer to wait for `onWritable`. */
  write(chunk: Uint8Array): boolean {
    if (this.#error !== undefined) throw this.#error
    if (this.#ending) throw new StreamError('reset-locally', `stream ${this.id}: write after end`)
    this.accept()
    this.#unsent.push(chunk)
    if (this.isSendable) this.#host.wantsToSend(this)
    this.#host.account.hold(chunk.length)
    this.#writerWaits = this.#error === undefined && this.#unsent.bytes >= this.#host.sendHighWaterBytes
    return !this.#writerWaits
  }

  /** Ends our direction after everything written. */
  end(): void {
    if (this.#ending || this.#error !== undefined) return
    this.accept()
    this.#ending = true
    if (this.isSendable) this.#host.wantsToSend(this)
  }

  /** Ends both directions at once and tells the peer. Does not call `onReset`: whoever resets knows. */
  reset(): void {
    if (this.isWireClosed) {
      this.#dropUnread()
      return
    }
    // A stream the peer has not heard of needs no reset.
    if ((this.#pendingFlags & Flag.syn) === 0) this.#host.sendReset(this)
    this.#close(new StreamError('reset-locally', `stream ${this.id} was reset here`))
  }

  /** For the session: ends the stream for a reason its owner has to be told. */
  fail(error: StreamError, tellPeer: boolean): void {
    if (this.isWireClosed) return
    if (tellPeer && (this.#pendingFlags & Flag.syn) === 0) this.#host.sendReset(this)
    this.#close(error)
    this.#handler.onReset(error)
  }

  /** For the session, when even a stream that is closed on the wire holds too much. */
  dropUnread(error: StreamError): void {
    if (!this.isWireClosed) {
      this.fail(error, true)
      return
    }
    this.#error = error
    this.#dropUnread()
    this.#handler.onReset(error)
  }

  onCredit(bytes: number): void {
    if (this.#sendCreditBytes + bytes > MAX_CREDIT_BYTES) {
      throw offence('window-violation', `stream ${this.id}: credit of ${bytes} bytes overflows the window`)
    }
    this.#sendCreditBytes += bytes
    if (this.isSendable) this.#host.wantsToSend(this)
  }

  /** Whether so much credit may be for bytes that were sent; counts it as that. */
  isCreditDue(bytes: number): boolean {
    if (bytes < SMALL_CREDIT_BYTES || this.#uncreditedBytes === 0) return false
    this.#uncreditedBytes = Math.max(0, this.#uncreditedBytes - SMALL_CREDIT_BYTES)
    return true
  }

  /** Counts a payload before its first byte is taken in. */
  expectPayload(bytes: number): void {
    if (!this.#window.take(bytes)) {
      throw offence('window-violation', `stream ${this.id}: ${bytes} bytes exceed what its window allows`)
    }
  }

  onPayload(slice: Uint8Array): void {
    // After its own FIN a peer may still have had a write under way; the bytes are nobody's.
    if (this.#peerEnded || this.#error !== undefined) return
    this.#activeMs = this.#host.turnMs
    this.#unread.push(slice)
    this.#host.account.hold(slice.length)
    if (this.#error !== undefined) return
    this.#handler.onReadable()
    this.#unread.settle()
  }

  onEnd(): void {
    if (this.#error !== undefined) return
    if (this.#peerEnded) throw offence('bad-frame', `stream ${this.id} was ended twice`)
    this.#peerEnded = true
    this.#handler.onReadable()
    this.#releaseIfDone()
  }

  get isSendable(): boolean {
    if (this.#error !== undefined || this.#ended) return false
    return this.#unsent.bytes === 0 ? this.#ending : this.#sendCreditBytes > 0
  }

  emit(maxBytes: number, out: Uint8Array[]): number {
    this.#activeMs = this.#host.turnMs
    const bytes = Math.min(maxBytes, this.#sendCreditBytes, this.#unsent.bytes)
    if (bytes > 0) {
      out.push(this.#host.headers.header(FrameType.data, 0, this.id, bytes))
      this.#unsent.gather(bytes, out)
      this.#sendCreditBytes -= bytes
      this.#uncreditedBytes += bytes
      this.#host.account.letGo(bytes)
    }
    if (this.#ending && this.#unsent.bytes === 0) this.#emitEnd(out)
    else this.#letWriterGoOn()
    return bytes
  }

  /** A frame of its own: hashicorp's reader may report the end before the payload of a frame that carries both. */
  #emitEnd(out: Uint8Array[]): void {
    out.push(this.#host.headers.header(FrameType.windowUpdate, Flag.fin, this.id, 0))
    this.#ended = true
    this.#releaseIfDone()
  }

  /** Flags and credit for the next control burst; `emit` is called with both, once. */
  takeAnnouncement(emit: (flags: number, creditBytes: number) => void): void {
    this.#isAnnounced = false
    const flags = this.#pendingFlags
    const creditBytes = this.#pendingCreditBytes
    this.#pendingFlags = 0
    this.#pendingCreditBytes = 0
    if (this.#error === undefined && (flags !== 0 || creditBytes > 0)) emit(flags, creditBytes)
  }

  #letWriterGoOn(): void {
    if (!this.#writerWaits || this.#unsent.bytes * 2 > this.#host.sendHighWaterBytes) return
    this.#writerWaits = false
    this.#handler.onWritable()
  }

  #sendCredit(): void {
    const creditBytes = this.#window.update(this.#unread.bytes, this.#host.conditions())
    if (creditBytes > 0) this.#announce(0, creditBytes)
  }

  #announce(flags: number, creditBytes: number): void {
    this.#pendingFlags |= flags
    this.#pendingCreditBytes += creditBytes
    if (this.#isAnnounced) return
    this.#isAnnounced = true
    this.#host.wantsToAnnounce(this)
  }

  #close(error: StreamError): void {
    this.#error = error
    this.#host.account.letGo(this.#unsent.bytes)
    this.#unsent.clear()
    if (!this.#isAccepted) {
      this.#isAccepted = true
      this.#host.accepted()
    }
    this.#dropUnread()
  }

  #dropUnread(): void {
    this.#host.account.letGo(this.#unread.bytes)
    this.#unread.clear()
    this.#releaseIfDone()
  }

  #releaseIfDone(): void {
    if (this.#isReleased || !this.isWireClosed || this.#unread.bytes > 0) return
    this.#isReleased = true
    this.#window.close()
    this.#host.released(this)
  }
}
