/** Values of prelude fields: text without control characters, numbers of four bytes, trace ids. */
import { PreludeError } from './message.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })
const controlCharacters = /\p{Cc}/u

export function encodeText(name: string, text: string, maxBytes: number): Uint8Array {
  const bytes = Buffer.from(text)
  checkText(name, text, bytes.length, maxBytes)
  return bytes
}

export function decodeText(name: string, bytes: Uint8Array, maxBytes: number): string {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch (cause) {
    throw new PreludeError(`${name} is not UTF-8`, { cause })
  }
  checkText(name, text, bytes.length, maxBytes)
  return text
}

export function encodeUint32(name: string, value: number): Uint8Array {
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
    throw new PreludeError(`${name} must be an integer of 32 bits, not ${value}`)
  }
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function decodeUint32(name: string, bytes: Uint8Array): number {
  if (bytes.length !== 4) throw new PreludeError(`${name} has ${bytes.length} bytes; it needs 4`)
  return Buffer.from(bytes).readUInt32BE()
}

export function encodeTraceId(traceId: string): Uint8Array {
  if (!/^[0-9a-f]{32}$/.test(traceId)) throw new PreludeError('trace id must be 32 lower-case hexadecimal digits')
  return Buffer.from(traceId, 'hex')
}

export function decodeTraceId(bytes: Uint8Array): string {
  if (bytes.length !== 16) throw new PreludeError(`trace id has ${bytes.length} bytes; it needs 16`)
  return Buffer.from(bytes).toString('hex')
}

function checkText(name: string, text: string, bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new PreludeError(`${name} of ${bytes} bytes exceeds the limit of ${maxBytes}`)
  if (controlCharacters.test(text)) throw new PreludeError(`${name} has control characters`)
}
