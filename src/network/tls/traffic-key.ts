/**
 * Reading what a peer sends encrypted during a handshake of TLS 1.3 (RFC 8446, 5.2 and 7.3): its certificates among it. The
 * secret is the one that our own end of the connection has derived.
 */
import { createDecipheriv, createHmac } from 'node:crypto'
import { HandshakeRefusal } from './handshake-refusal.ts'
import { RECORD_HEADER_BYTES } from './records.ts'

interface Suite {
  readonly cipher: 'aes-128-gcm' | 'aes-256-gcm' | 'chacha20-poly1305'
  readonly hash: 'sha256' | 'sha384'
  readonly keyBytes: number
}

const SUITES: ReadonlyMap<string, Suite> = new Map([
  ['TLS_AES_128_GCM_SHA256', { cipher: 'aes-128-gcm', hash: 'sha256', keyBytes: 16 }],
  ['TLS_AES_256_GCM_SHA384', { cipher: 'aes-256-gcm', hash: 'sha384', keyBytes: 32 }],
  ['TLS_CHACHA20_POLY1305_SHA256', { cipher: 'chacha20-poly1305', hash: 'sha256', keyBytes: 32 }],
])

const IV_BYTES = 12
const TAG_BYTES = 16

export interface Opened {
  /** Type of the record within: what the outer one says is a disguise. */
  readonly type: number
  readonly content: Buffer
}

export class TrafficKey {
  readonly #suite: Suite
  readonly #key: Buffer
  readonly #iv: Buffer
  #sequence = 0

  constructor(suiteName: string, secret: Buffer) {
    const suite = SUITES.get(suiteName)
    if (suite === undefined) throw new HandshakeRefusal(`the cipher suite ${suiteName} is not used here`)
    this.#suite = suite
    this.#key = expandLabel(suite.hash, secret, 'key', suite.keyBytes)
    this.#iv = expandLabel(suite.hash, secret, 'iv', IV_BYTES)
  }

  /** Records have to come in the order in which they were sent, each once. Throws for one that is not of this key. */
  open(record: Buffer): Opened {
    const { cipher } = this.#suite
    const tagAt = record.length - TAG_BYTES
    if (tagAt < RECORD_HEADER_BYTES) throw new HandshakeRefusal('a record is too short to be encrypted')
    const options = { authTagLength: TAG_BYTES }
    const decipher = createDecipheriv(cipher as 'aes-128-gcm', this.#key, this.#nextNonce(), options)
    decipher.setAAD(record.subarray(0, RECORD_HEADER_BYTES))
    decipher.setAuthTag(record.subarray(tagAt))
    const inner = decipher.update(record.subarray(RECORD_HEADER_BYTES, tagAt))
    try {
      decipher.final()
    } catch (cause) {
      throw new HandshakeRefusal('a record of the handshake cannot be decrypted', { cause })
    }
    return withoutPadding(inner)
  }

  #nextNonce(): Buffer {
    const nonce = Buffer.from(this.#iv)
    nonce.writeUInt32BE((nonce.readUInt32BE(IV_BYTES - 4) ^ this.#sequence) >>> 0, IV_BYTES - 4)
    this.#sequence += 1
    return nonce
  }
}

function withoutPadding(inner: Buffer): Opened {
  let end = inner.length - 1
  while (end >= 0 && inner[end] === 0) end -= 1
  if (end < 0) throw new HandshakeRefusal('an encrypted record holds nothing')
  return { type: inner.readUInt8(end), content: inner.subarray(0, end) }
}

/** HKDF-Expand-Label with an empty context, for results no longer than one hash. */
function expandLabel(hash: string, secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`)
  const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0])])
  const block = createHmac(hash, secret)
    .update(info)
    .update(Buffer.from([1]))
    .digest()
  return block.subarray(0, length)
}
