/**
 * Encrypts what is secret: AES-256-GCM, a random nonce for each value, and the place that a value belongs to as associated
 * data, so that a value that was moved to another place cannot be opened there.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { Random } from '../../runtime/random.ts'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const PURPOSE = 'causeway replica, aes-256-gcm'

export class SecretBox {
  readonly #key: Buffer
  readonly #random: Random

  /** `material` is what a key file holds: bytes that nobody can guess, of any length. */
  constructor(material: Uint8Array, random: Random) {
    this.#key = Buffer.from(hkdfSync('sha256', material, '', PURPOSE, KEY_BYTES))
    this.#random = random
  }

  seal(plain: Uint8Array, place: string): Buffer {
    const nonce = this.#random.bytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce)
    cipher.setAAD(Buffer.from(place))
    const body = cipher.update(plain)
    cipher.final()
    return Buffer.concat([nonce, body, cipher.getAuthTag()])
  }

  /** `undefined` if it was sealed with another key, for another place, or was changed. */
  open(sealed: Buffer, place: string): Buffer | undefined {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
    const decipher = createDecipheriv(ALGORITHM, this.#key, sealed.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(place))
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
    try {
      const plain = decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES))
      decipher.final()
      return plain
    } catch {
      return undefined
    }
  }
}
