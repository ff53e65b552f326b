/** HTTP/2 by hand: what no library would send. */
import type { TLSSocket } from 'node:tls'

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4 } as const

export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Every header as a literal with a new name, never indexed, never compressed. */
function headerBlock(headers: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string): Buffer => Buffer.concat([prefixed(value.length), Buffer.from(value, 'latin1')])
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

/** A length with a prefix of seven bits. */
function prefixed(length: number): Buffer {
  if (length < 127) return Buffer.from([length])
  const bytes = [127]
  let rest = length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

export function headersFrame(stream: number, headers: readonly (readonly [string, string])[], flags: number): Buffer {
  return frame(FRAME.headers, flags, stream, headerBlock(headers))
}

export function resetFrame(stream: number, code: number): Buffer {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(code)
  return frame(FRAME.reset, 0, stream, payload)
}

export function requestHead(method: string, path: string): readonly (readonly [string, string])[] {
  return [
    [':method', method],
    [':scheme', 'https'],
    [':authority', 'x'],
    [':path', path],
  ]
}

export const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(FRAME.settings, 0, 0)])

/** Frames as they come; what is not complete is kept for later. */
export function onFrames(
  socket: TLSSocket,
  heard: (type: number, flags: number, stream: number, payload: Buffer) => void,
): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 9) {
      const length = rest.readUIntBE(0, 3)
      if (rest.length < 9 + length) return
      heard(rest[3] ?? 0, rest[4] ?? 0, rest.readUInt32BE(5), rest.subarray(9, 9 + length))
      rest = rest.subarray(9 + length)
    }
  })
}
