/** How a gRPC call ends: a number and a sentence in the trailers. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'

/** The numbers are the protocol's; only those that are sent or told apart here. */
export const GrpcCode = {
  ok: 0,
  unknown: 2,
  invalidArgument: 3,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const

export type GrpcCodeNumber = (typeof GrpcCode)[keyof typeof GrpcCode]

/** The far end ended a call with something else than success, or never answered it as gRPC. */
export class GrpcError extends Error {
  override readonly name = 'GrpcError'
  readonly code: number

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export const GRPC_CONTENT_TYPE = 'application/grpc'

export function statusTrailers(code: GrpcCodeNumber, message: string): OutgoingHttpHeaders {
  return message === ''
    ? { 'grpc-status': String(code) }
    : { 'grpc-status': String(code), 'grpc-message': percentEncode(message) }
}

/** The error that trailers tell of; `undefined` where they tell of success. */
export function errorOfTrailers(trailers: IncomingHttpHeaders): GrpcError | undefined {
  const status = trailers['grpc-status']
  if (status === '0') return undefined
  const text = trailers['grpc-message']
  const message = typeof text === 'string' && text !== '' ? percentDecode(text) : 'no reason given'
  const code = typeof status === 'string' && /^\d{1,9}$/.test(status) ? Number(status) : GrpcCode.unknown
  return new GrpcError(code, message)
}

/** The protocol's own way to put text into a header: printable ASCII but `%` stays, every other byte is escaped. */
function percentEncode(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) =>
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .join('')
}

/** Never fails: what is not a proper escape is kept as it is. */
function percentDecode(text: string): string {
  const bytes: number[] = []
  for (let index = 0; index < text.length; index++) {
    const hex = /^%([0-9a-f]{2})/i.exec(text.slice(index, index + 3))
    if (hex === null) bytes.push(...Buffer.from(text[index] ?? ''))
    else {
      bytes.push(Number.parseInt(hex[1] ?? '', 16))
      index += 2
    }
  }
  return Buffer.from(bytes).toString()
}
