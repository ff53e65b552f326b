/**
 * What a peer sends in a TLS handshake, looked at before OpenSSL gets it. OpenSSL checks every signature of the chain that a
 * stranger presents, on the event loop and whatever the keys: a hundred kilobytes of unusual ones keep it busy for seconds.
 * So each record is read here first, in TLS 1.3 with the keys of our own end, and a chain that would cost too much ends the
 * connection.
 *
 * Always true: no record that holds a certificate is let through before all certificates of its message were judged. What
 * cannot be read here is not let through at all.
 */
import { certificatesOfTls12, certificatesOfTls13 } from './certificate-message.ts'
import { type HandshakeMessage, MessageReader, MessageType } from './handshake-messages.ts'
import { HandshakeRefusal } from './handshake-refusal.ts'
import { RECORD_HEADER_BYTES, RecordReader, RecordType, type TlsRecord } from './records.ts'
import type { TrafficKey } from './traffic-key.ts'

/** All that a peer sends for its handshake. Certificates are the most of it; hellos of today take two kilobytes. */
export const MAX_HANDSHAKE_BYTES = 64 * 1024
/** What may wait here: a record that has not come whole, and what one reading brought along behind the handshake. */
export const MAX_HANDSHAKE_WAITING_BYTES = 256 * 1024
/** Bytes of each message but the one with certificates: the largest hellos of today take two kilobytes. */
export const MAX_HANDSHAKE_MESSAGE_BYTES = 16 * 1024
/** A handshake takes about ten, and each costs us a decryption. */
export const MAX_HANDSHAKE_RECORDS = 64
/** TLS 1.2: what follows when the peer has turned encryption on, which is one message of a few bytes. */
export const MAX_FINISHED_BYTES = 512

/** Throws a `HandshakeRefusal` for certificates that OpenSSL is not to see. */
export type JudgeCertificates = (certificates: readonly Buffer[]) => void

export class HandshakeGuard {
  readonly #judge: JudgeCertificates
  readonly #reader = new RecordReader()
  readonly #plain = new MessageReader()
  readonly #encrypted = new MessageReader()
  readonly #held: Buffer[] = []
  #key: TrafficKey | undefined
  #bytes = 0
  #records = 0
  /** TLS 1.2: whether the peer has come to where it may turn encryption on. Elsewhere its saying so means nothing. */
  #hasExchangedKeys = false
  /** TLS 1.2: how much has come since the peer turned encryption on; undefined before that. */
  #finishedBytes: number | undefined
  #isMalformed = false

  constructor(judge: JudgeCertificates) {
    this.#judge = judge
  }

  /** The bytes are copied. */
  push(bytes: Uint8Array): void {
    if (this.#reader.rest.length + bytes.length > MAX_HANDSHAKE_WAITING_BYTES)
      throw new HandshakeRefusal(`more than ${MAX_HANDSHAKE_WAITING_BYTES} bytes wait for a handshake`)
    this.#reader.push(bytes)
  }

  /** TLS 1.3: from here on this is what the peer encrypts with. */
  unlock(key: TrafficKey): void {
    this.#key = key
  }

  /** What may go on to OpenSSL, which has to get it before the next call: it may bring the key of what follows. */
  next(): Buffer | undefined {
    for (;;) {
      if (this.#isMalformed) throw new HandshakeRefusal('this is not TLS')
      const record = this.#reader.peek()
      if (record === undefined) return undefined
      if (record === 'malformed') {
        // Enough for OpenSSL to say so to the peer.
        this.#isMalformed = true
        return this.#reader.take(RECORD_HEADER_BYTES)
      }
      if (record.type === RecordType.applicationData && this.#key === undefined) return undefined
      this.#held.push(this.#reader.take(record.bytes.length))
      this.#count(record)
      if (this.#inspect(record)) return Buffer.concat(this.#held.splice(0))
    }
  }

  /** When the handshake is done: whatever has not been let through yet. */
  release(): Buffer {
    return Buffer.concat([...this.#held.splice(0), this.#reader.take(this.#reader.rest.length)])
  }

  #count({ bytes }: TlsRecord): void {
    this.#bytes += bytes.length
    this.#records += 1
    if (this.#bytes > MAX_HANDSHAKE_BYTES)
      throw new HandshakeRefusal(`the handshake takes more than ${MAX_HANDSHAKE_BYTES} bytes`)
    if (this.#records > MAX_HANDSHAKE_RECORDS)
      throw new HandshakeRefusal(`the handshake takes more than ${MAX_HANDSHAKE_RECORDS} records`)
  }

  /** False where the record ends in the middle of certificates: it waits for the rest. */
  #inspect(record: TlsRecord): boolean {
    switch (record.type) {
      case RecordType.alert:
        return true
      case RecordType.changeCipherSpec:
        if (this.#hasExchangedKeys) this.#finishedBytes ??= 0
        return true
      case RecordType.handshake:
        return this.#inspectPlain(record.payload)
      default:
        return this.#inspectEncrypted(record.bytes)
    }
  }

  #inspectPlain(payload: Buffer): boolean {
    if (this.#key !== undefined) throw new HandshakeRefusal('a message of the handshake is not encrypted')
    if (this.#finishedBytes === undefined) return this.#read(this.#plain, payload, false)
    this.#finishedBytes += payload.length
    if (this.#finishedBytes > MAX_FINISHED_BYTES)
      throw new HandshakeRefusal(`the end of the handshake takes more than ${MAX_FINISHED_BYTES} bytes`)
    return true
  }

  #inspectEncrypted(bytes: Buffer): boolean {
    const { type, content } = (this.#key as TrafficKey).open(bytes)
    return type !== RecordType.handshake || this.#read(this.#encrypted, content, true)
  }

  #read(reader: MessageReader, content: Buffer, isTls13: boolean): boolean {
    reader.push(content)
    for (let message = reader.next(); message !== undefined; message = reader.next())
      this.#judgeMessage(message, isTls13)
    return reader.unfinishedType !== MessageType.certificate
  }

  #judgeMessage({ type, body }: HandshakeMessage, isTls13: boolean): void {
    if (type === MessageType.compressedCertificate)
      throw new HandshakeRefusal('compressed certificates are not asked for')
    if (type !== MessageType.certificate && body.length > MAX_HANDSHAKE_MESSAGE_BYTES)
      throw new HandshakeRefusal(`a message of the handshake takes more than ${MAX_HANDSHAKE_MESSAGE_BYTES} bytes`)
    if (type === MessageType.serverHelloDone || type === MessageType.clientKeyExchange) this.#hasExchangedKeys = true
    if (type === MessageType.certificate) this.#judge(isTls13 ? certificatesOfTls13(body) : certificatesOfTls12(body))
  }
}
