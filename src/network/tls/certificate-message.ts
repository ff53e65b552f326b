/** The handshake's message of certificates (RFC 5246, 7.4.2 and RFC 8446, 4.4.2), the peer's own first. */
import { HandshakeRefusal } from './handshake-refusal.ts'

export function certificatesOfTls12(body: Buffer): Buffer[] {
  return readList(body, () => {})
}

export function certificatesOfTls13(body: Buffer): Buffer[] {
  // Before the list stands what the request for it was marked with; behind each certificate what is said of it.
  const fields = new Fields(body)
  fields.take(1)
  return readList(fields.rest, (entry) => entry.take(2))
}

function readList(body: Buffer, skipExtensions: (fields: Fields) => void): Buffer[] {
  const whole = new Fields(body)
  const list = new Fields(whole.take(3))
  whole.expectEnd()
  const certificates: Buffer[] = []
  while (!list.isAtEnd) {
    certificates.push(list.take(3))
    skipExtensions(list)
  }
  return certificates
}

class Fields {
  rest: Buffer

  constructor(bytes: Buffer) {
    this.rest = bytes
  }

  get isAtEnd(): boolean {
    return this.rest.length === 0
  }

  /** A field behind its length, which takes so many bytes. */
  take(lengthBytes: number): Buffer {
    const start = lengthBytes
    const end = this.rest.length < start ? Number.POSITIVE_INFINITY : start + this.rest.readUIntBE(0, lengthBytes)
    if (end > this.rest.length) throw malformed()
    const field = this.rest.subarray(start, end)
    this.rest = this.rest.subarray(end)
    return field
  }

  expectEnd(): void {
    if (!this.isAtEnd) throw malformed()
  }
}

function malformed(): HandshakeRefusal {
  return new HandshakeRefusal('the message with the certificates is malformed')
}
