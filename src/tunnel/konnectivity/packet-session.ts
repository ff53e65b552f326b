/**
 * The connections of one link, for both ends: it opens connections by DIAL_REQ and answers those of the peer. Identifiers are
 * made by who answers a dial and count for one link only.
 */
import type { Duplex } from 'node:stream'
import type { SafetyNet } from '../../process/safety-net.ts'
import type { Clock } from '../../runtime/clock.ts'
import { EndingStreams } from '../ending-streams.ts'
import { OpenError } from '../open-error.ts'
import { relay } from '../relay.ts'
import type { Budget } from '../yamux/budget.ts'
import { dialErrorFrom } from './dial-text.ts'
import { type Answer, IncomingDials } from './incoming-dials.ts'
import { LinkPressure } from './link-pressure.ts'
import { type DialOptions, OutgoingDials } from './outgoing-dials.ts'
import type { DataPacket, DialResponse, Packet } from './packet.ts'
import { PacketConnection } from './packet-connection.ts'
import { PacketLimits } from './packet-limits.ts'
import type { PacketPort, SentPacket } from './packet-port.ts'
import { PacketError } from './wire.ts'

/** Connections and dials of one link: what a busy node of some hundred pods needs, several times over. */
export const MAX_CONNECTIONS_PER_LINK = 4_096
/** For the peer to agree to a closing; after that its identifier is forgotten. The stock client waits as long. */
export const CLOSE_TIMEOUT_MS = 10_000
/** For a target to take its last bytes and say goodbye after the connection has been closed. */
const TARGET_LINGER_MS = 1_000
/** Answers to a peer that keeps asking and never reads; beyond this it is not served any more. */
export const MAX_CONTROL_BACKLOG_BYTES = 1024 * 1024

export interface PacketSessionOptions {
  readonly clock: Clock
  readonly net: SafetyNet
  readonly budget: Budget
  /** Reaches what the peer dials. Absent: the peer may not dial. Rejects with an `OpenError`. */
  readonly answer?: Answer | undefined
  /** Which packet says that a connection the peer dialled ends: agents and servers of konnectivity differ in it. */
  readonly closesWith: 'close-request' | 'close-response'
  /** The identifiers we make: every `step`th from `first` on. */
  readonly ids: { readonly first: number; readonly step: number }
  readonly maxConnections?: number
  /** One connection for the whole life of the link, as the API server uses it. */
  readonly isSingleUse?: boolean
  readonly maxQueuedBytes?: number
  readonly onStalled?: () => void
  /** The peer asks not to be given new work. */
  readonly onDrain?: () => void
  /** The last connection, or the last dial, has gone. */
  readonly onIdle?: () => void
}

interface Entry {
  readonly connection: PacketConnection
  readonly isDialled: boolean
  /** We have asked the peer to close; what it still sends is delivered. */
  isClosing: boolean
  cancelLimit: () => void
}

export class PacketSession {
  readonly #port: PacketPort
  readonly #options: PacketSessionOptions
  readonly #pressure: LinkPressure
  readonly #entries = new Map<number, Entry>()
  readonly #outgoing: OutgoingDials
  readonly #incoming: IncomingDials
  readonly #limits: PacketLimits
  #hasAskedToDrain = false
  #nextId: number
  #end: OpenError | undefined

  constructor(port: PacketPort, options: PacketSessionOptions) {
    const { clock, net, budget, isSingleUse = false, ids } = options
    this.#port = port
    this.#options = options
    this.#nextId = ids.first
    this.#pressure = new LinkPressure({
      clock,
      budget,
      isShared: !isSingleUse,
      pause: () => port.pause(),
      resume: () => port.resume(),
      maxQueuedBytes: options.maxQueuedBytes,
      onStalled: options.onStalled,
    })
    this.#limits = new PacketLimits(clock, (error) => port.abort(error))
    this.#outgoing = new OutgoingDials({ clock, send: (packet) => this.#send(packet) })
    this.#incoming = new IncomingDials({
      answer: options.answer,
      isSingleUse,
      guard: net.guard('session', () => port.abort(new Error('a dial of the peer failed by a defect'))),
      hasRoom: () => this.#hasRoom,
      send: (packet) => this.#send(packet),
      connect: (target) => this.#connect(target),
      failed: () => this.#checkIdle(),
      fruitless: () => this.#limits.countFruitlessDial(),
    })
  }

  /** Connections, those being closed included, and dials without an answer. */
  get streamCount(): number {
    return this.#entries.size + this.#outgoing.count + this.#incoming.count
  }

  /** Resolves once the far end has connected; rejects with an `OpenError`. */
  async dial(options: DialOptions): Promise<Duplex> {
    if (this.#end !== undefined) throw new OpenError('no-route', this.#end.message, { cause: this.#end })
    if (!this.#hasRoom) throw new OpenError('overloaded', 'the link has as many connections as it may have')
    return await this.#outgoing.dial(options)
  }

  drain(): void {
    this.#send({ type: 'drain' })
  }

  receive(packet: Packet): void {
    if (this.#end !== undefined) return
    switch (packet.type) {
      case 'data':
        this.#onData(packet)
        break
      case 'dial-request':
        this.#incoming.request(packet)
        break
      case 'dial-response':
        this.#onDialResponse(packet)
        break
      case 'dial-close':
        if (!this.#incoming.cancel(packet.random)) this.#limits.countIdle()
        break
      case 'close-request':
        this.#onCloseRequest(packet.connectId)
        break
      case 'close-response':
        this.#onCloseResponse(packet.connectId)
        break
      case 'drain':
        this.#onDrain()
        break
      case 'unknown':
        this.#limits.countIdle()
        break
    }
  }

  /** The link has gone: everything that used it ends now. */
  closed(error: Error | undefined): void {
    if (this.#end !== undefined) return
    const end = new OpenError('no-route', `the link has ended${error === undefined ? '' : `: ${error.message}`}`)
    this.#end = end
    const ending = new EndingStreams(this.#options.clock)
    this.#outgoing.failAll(end)
    this.#incoming.cancelAll()
    for (const [id, { connection, cancelLimit }] of this.#entries) {
      cancelLimit()
      this.#entries.delete(id)
      ending.add(() => void connection.destroy(end))
    }
    this.#pressure.close()
  }

  get #hasRoom(): boolean {
    return this.streamCount < (this.#options.maxConnections ?? MAX_CONNECTIONS_PER_LINK)
  }

  #onData({ connectId, data }: DataPacket): void {
    const entry = this.#entries.get(connectId)
    if ((entry === undefined || data.length === 0) && !this.#limits.countIdle()) return
    if (entry !== undefined) entry.connection.receive(data)
    else if (this.#options.closesWith === 'close-request') this.#send({ type: 'close-request', connectId })
    else this.#send({ type: 'close-response', connectId, error: 'unrecognized connectID' })
  }

  #onDialResponse({ random, error, connectId }: DialResponse): void {
    const pending = this.#outgoing.take(random)
    if (pending === undefined) {
      if (!this.#limits.countIdle()) return
      if (error === '' && connectId !== 0 && !this.#entries.has(connectId))
        this.#send({ type: 'close-request', connectId })
      return
    }
    if (error !== '') pending.reject(dialErrorFrom(error))
    else if (connectId === 0) pending.reject(new OpenError('invalid', 'the peer gave the connection no identifier'))
    else if (this.#entries.has(connectId)) {
      pending.reject(new OpenError('invalid', `the peer gave two connections the identifier ${connectId}`))
      this.#port.abort(new PacketError(`identifier ${connectId} given twice`))
    } else pending.resolve(this.#adopt(connectId, true))
  }

  #onDrain(): void {
    if (this.#hasAskedToDrain) this.#limits.countIdle()
    this.#hasAskedToDrain = true
    this.#options.onDrain?.()
  }

  #onCloseRequest(connectId: number): void {
    const entry = this.#entries.get(connectId)
    if (entry === undefined && !this.#limits.countIdle()) return
    this.#send({ type: 'close-response', connectId, error: entry === undefined ? 'Unknown connectID' : '' })
    if (entry !== undefined) this.#forget(connectId, entry)
  }

  #onCloseResponse(connectId: number): void {
    const entry = this.#entries.get(connectId)
    if (entry !== undefined) this.#forget(connectId, entry)
    else this.#limits.countIdle()
  }

  #adopt(id: number, isDialled: boolean): PacketConnection {
    const connection = new PacketConnection(id, {
      sendData: (connectId, data, done) => this.#port.send({ type: 'data', connectId, data }, done),
      closing: () => this.#onClosing(id),
      queueChanged: (changed) => this.#pressure.update(changed),
    })
    this.#options.net.watch(connection, 'stream')
    this.#entries.set(id, { connection, isDialled, isClosing: false, cancelLimit: () => {} })
    return connection
  }

  #connect(target: Duplex): number {
    const connection = this.#adopt(this.#takeId(), false)
    const { clock } = this.#options
    void relay(connection, target, { linger: { clock, maxMs: TARGET_LINGER_MS } })
    return connection.id
  }

  #takeId(): number {
    while (this.#entries.has(this.#nextId)) this.#nextId += this.#options.ids.step
    const id = this.#nextId
    this.#nextId += this.#options.ids.step
    return id
  }

  #onClosing(connectId: number): void {
    const entry = this.#entries.get(connectId)
    if (entry === undefined || entry.isClosing) return
    if (!entry.isDialled && this.#options.closesWith === 'close-response') {
      this.#send({ type: 'close-response', connectId, error: '' })
      this.#forget(connectId, entry)
      return
    }
    entry.isClosing = true
    this.#send({ type: 'close-request', connectId })
    entry.cancelLimit = this.#options.clock.schedule(CLOSE_TIMEOUT_MS, () => this.#forget(connectId, entry))
  }

  #forget(connectId: number, entry: Entry): void {
    entry.cancelLimit()
    this.#entries.delete(connectId)
    entry.connection.over()
    this.#checkIdle()
  }

  #checkIdle(): void {
    if (this.streamCount === 0 && this.#end === undefined) this.#options.onIdle?.()
  }

  #send(packet: SentPacket): void {
    if (this.#end !== undefined) return
    if (this.#isFlooded) {
      this.#port.abort(new PacketError('the peer asks more than it reads'))
      return
    }
    this.#port.send(packet)
  }

  /** Each connection may have one write under way; those bytes are not answers. */
  get #isFlooded(): boolean {
    let answerBytes = this.#port.backlogBytes
    if (answerBytes <= MAX_CONTROL_BACKLOG_BYTES) return false
    for (const { connection } of this.#entries.values()) answerBytes -= connection.writableLength
    return answerBytes > MAX_CONTROL_BACKLOG_BYTES
  }
}
