/**
 * A deliberately simple second opinion on the yamux wire: whole frames from whole bytes, and a referee that watches both
 * directions and knows only the rules, not our code.
 */
export interface NaiveFrame {
  readonly version: number
  readonly type: number
  readonly flags: number
  readonly streamId: number
  readonly length: number
  readonly payload: Buffer
}

export const DATA = 0
export const WINDOW_UPDATE = 1
export const PING = 2
export const GO_AWAY = 3
export const SYN = 1
export const ACK = 2
export const FIN = 4
export const RST = 8

export function naiveFrame(
  type: number,
  flags: number,
  streamId: number,
  length: number,
  payload?: Uint8Array,
): Buffer {
  const header = Buffer.alloc(12)
  header.writeUInt8(0, 0)
  header.writeUInt8(type, 1)
  header.writeUInt16BE(flags, 2)
  header.writeUInt32BE(streamId, 4)
  header.writeUInt32BE(length, 8)
  return Buffer.concat([header, payload ?? Buffer.alloc(0)])
}

export function dataFrame(streamId: number, payload: Uint8Array, flags = 0): Buffer {
  return naiveFrame(DATA, flags, streamId, payload.length, payload)
}

/** All complete frames at the start of `bytes`, and what is left over. */
export function naiveDecode(bytes: Buffer): { frames: NaiveFrame[]; rest: Buffer } {
  const frames: NaiveFrame[] = []
  let rest = bytes
  while (rest.length >= 12) {
    const type = rest.readUInt8(1)
    const length = rest.readUInt32BE(8)
    const total = 12 + (type === DATA ? length : 0)
    if (rest.length < total) break
    const payload = rest.subarray(12, total)
    const frame = {
      version: rest.readUInt8(0),
      type,
      flags: rest.readUInt16BE(2),
      streamId: rest.readUInt32BE(4),
      length,
    }
    frames.push({ ...frame, payload })
    rest = rest.subarray(total)
  }
  return { frames, rest }
}

interface Direction {
  /** What may still be sent on a stream, as far as the other direction has said so on the wire. */
  readonly credit: Map<number, number>
  readonly ended: Set<number>
  readonly reset: Set<number>
  rest: Buffer
}

const firstCredit = 256 * 1024

/** Watches two directions as they are sent and throws at the first frame a correct peer would not send. */
export class WireReferee {
  readonly #directions = { client: newDirection(), server: newDirection() }
  readonly #opened = new Set<number>()
  frames = 0

  sent(from: 'client' | 'server', bytes: Uint8Array): void {
    const mine = this.#directions[from]
    const { frames, rest } = naiveDecode(Buffer.concat([mine.rest, bytes]))
    mine.rest = rest
    for (const frame of frames) this.#judge(from, frame)
    this.frames += frames.length
  }

  #judge(from: 'client' | 'server', frame: NaiveFrame): void {
    const mine = this.#directions[from]
    const other = this.#directions[from === 'client' ? 'server' : 'client']
    const { type, flags, streamId, length } = frame
    if (type > WINDOW_UPDATE) return
    if ((flags & SYN) !== 0) this.#open(from, streamId)
    rule(this.#opened.has(streamId), `frame for stream ${streamId}, which was never opened`)
    rule(!mine.reset.has(streamId), `frame after reset on stream ${streamId}`)
    if (type === DATA) {
      const left = (mine.credit.get(streamId) ?? firstCredit) - length
      rule(length > 0, `empty data frame on stream ${streamId}`)
      rule(left >= 0, `stream ${streamId} sends ${-left} bytes more than it may`)
      rule(!mine.ended.has(streamId), `data after the end of stream ${streamId}`)
      mine.credit.set(streamId, left)
    } else other.credit.set(streamId, (other.credit.get(streamId) ?? firstCredit) + length)
    if ((flags & FIN) !== 0) {
      rule(!mine.ended.has(streamId), `stream ${streamId} is ended twice`)
      mine.ended.add(streamId)
    }
    if ((flags & RST) !== 0) mine.reset.add(streamId)
  }

  #open(from: 'client' | 'server', streamId: number): void {
    rule(streamId % 2 === (from === 'client' ? 1 : 0), `${from} opens stream ${streamId}`)
    rule(!this.#opened.has(streamId), `stream ${streamId} is opened twice`)
    this.#opened.add(streamId)
  }
}

function newDirection(): Direction {
  return { credit: new Map(), ended: new Set(), reset: new Set(), rest: Buffer.alloc(0) }
}

function rule(holds: boolean, breach: string): void {
  if (!holds) throw new Error(`referee: ${breach}`)
}
