/** Packets over one gRPC call. What cannot be understood ends the call: nothing after it could be trusted. */
import type { Clock } from '../../runtime/clock.ts'
import { type CallStream, MessageStream } from '../grpc/message-stream.ts'
import { decodePacket, encodePacket, type Packet } from './packet.ts'

export type SentPacket = Exclude<Packet, { type: 'unknown' }>
type Done = (error?: Error | null) => void

/** Where packets go, and how their coming is held up. */
export interface PacketPort {
  /** Bytes the peer has not made room for yet. */
  readonly backlogBytes: number
  /** `done` is called once the packet needs no more room here. */
  send(packet: SentPacket, done?: Done): void
  pause(): void
  resume(): void
  /** Ends everything at once because of what the peer did. */
  abort(error: Error): void
}

export interface PacketHandler {
  receive(packet: Packet): void
  /** The link has gone; called once. */
  closed(error: Error | undefined): void
}

export class GrpcPacketPort implements PacketPort {
  readonly call: MessageStream

  constructor(stream: CallStream, clock: Clock, handler: PacketHandler) {
    this.call = new MessageStream(stream, clock, {
      message: (message) => handler.receive(decodePacket(message)),
      closed: (error) => handler.closed(error),
    })
  }

  get backlogBytes(): number {
    return this.call.backlogBytes
  }

  send(packet: SentPacket, done?: Done): void {
    this.call.send(encodePacket(packet), done)
  }

  pause(): void {
    this.call.pause()
  }

  resume(): void {
    this.call.resume()
  }

  abort(error: Error): void {
    this.call.abort(error)
  }
}
