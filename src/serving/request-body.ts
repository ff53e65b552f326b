/** Reads a request body into memory, up to a limit. */
import type { BodySource } from './body-source.ts'
import { BodyTooLargeError } from './exchange.ts'

export function readBody(source: BodySource, declaredLength: string | undefined, maxBytes: number): Promise<Buffer> {
  // Not worth reading what the client itself calls too large.
  if (declaredLength !== undefined && Number(declaredLength) > maxBytes)
    return Promise.reject(new BodyTooLargeError(maxBytes))
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let length = 0
    source.start({
      data: (piece) => {
        length += piece.length
        pieces.push(piece)
        if (length <= maxBytes) return
        source.discard()
        reject(new BodyTooLargeError(maxBytes))
      },
      end: () => resolve(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces, length)),
      broken: () => reject(new Error('the client went away before the end of its request')),
    })
  })
}
