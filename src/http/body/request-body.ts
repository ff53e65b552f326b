/** Reads a body into memory, up to a limit. */

import { BodyTooLargeError } from '../server/exchange.ts'
import type { ByteSource } from './byte-source.ts'

/** Without its end, a body must never look like a shorter one. */
export function clientGone(): Error {
  return new Error('the client went away before the end of its request')
}

export function readBody(source: ByteSource, declaredLength: string | undefined, maxBytes: number): Promise<Buffer> {
  // Not worth reading what the client itself calls too large.
  if (declaredLength !== undefined && Number(declaredLength) > maxBytes)
    return Promise.reject(new BodyTooLargeError(maxBytes))
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let length = 0
    source.read({
      data: (piece) => {
        length += piece.length
        pieces.push(piece)
        if (length <= maxBytes) return
        source.cancel()
        reject(new BodyTooLargeError(maxBytes))
      },
      end: () => resolve(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces, length)),
      broken: reject,
    })
  })
}
