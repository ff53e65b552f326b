import { describe, expect, it } from 'vitest'
import {
  HandshakeGuard,
  MAX_FINISHED_BYTES,
  MAX_HANDSHAKE_BYTES,
  MAX_HANDSHAKE_MESSAGE_BYTES,
  MAX_HANDSHAKE_RECORDS,
  MAX_HANDSHAKE_WAITING_BYTES,
} from './handshake-guard.ts'
import { HandshakeRefusal } from './handshake-refusal.ts'
import { RecordType } from './records.ts'
import type { TrafficKey } from './traffic-key.ts'

const CLIENT_HELLO = 1
const SERVER_HELLO_DONE = 14
const CLIENT_KEY_EXCHANGE = 16
const CERTIFICATE = 11
const COMPRESSED_CERTIFICATE = 25

function record(type: number, payload: Buffer): Buffer {
  const header = Buffer.from([type, 3, 3, 0, 0])
  header.writeUInt16BE(payload.length, 3)
  return Buffer.concat([header, payload])
}

function message(type: number, body: Buffer): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt32BE(body.length)
  header[0] = type
  return Buffer.concat([header, body])
}

const handshakeRecord = (bytes: Buffer): Buffer => record(RecordType.handshake, bytes)

function withLength(lengthBytes: number, bytes: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes)
  length.writeUIntBE(bytes.length, 0, lengthBytes)
  return Buffer.concat([length, bytes])
}

const tls12List = (...certificates: string[]): Buffer =>
  withLength(3, Buffer.concat(certificates.map((each) => withLength(3, Buffer.from(each)))))
const tls13List = (...certificates: string[]): Buffer =>
  Buffer.concat([
    Buffer.of(0),
    withLength(
      3,
      Buffer.concat(certificates.map((each) => Buffer.concat([withLength(3, Buffer.from(each)), Buffer.of(0, 0)]))),
    ),
  ])

/** "Encrypted" with nothing: the type stands behind the content. */
const noKey = {
  open: (bytes: Buffer) => ({ type: bytes.readUInt8(bytes.length - 1), content: bytes.subarray(5, -1) }),
} as TrafficKey
const sealed = (type: number, content: Buffer): Buffer =>
  record(RecordType.applicationData, Buffer.concat([content, Buffer.of(type)]))

function watched() {
  const judged: string[][] = []
  const guard = new HandshakeGuard((certificates) => {
    judged.push(certificates.map(String))
    if (judged.at(-1)?.includes('dear')) throw new HandshakeRefusal('too dear')
  })
  const all = (): string => {
    const pieces: Buffer[] = []
    for (let piece = guard.next(); piece !== undefined; piece = guard.next()) pieces.push(piece)
    return Buffer.concat(pieces).toString('hex')
  }
  return { guard, judged, all }
}

describe('a handshake without encryption', () => {
  const hello = handshakeRecord(message(CLIENT_HELLO, Buffer.from('hello')))
  const certificates = message(CERTIFICATE, tls12List('own', 'ca'))

  it('goes through record by record, in whatever pieces it comes', () => {
    const { guard, judged, all } = watched()
    const bytes = Buffer.concat([hello, handshakeRecord(certificates)])
    let through = ''
    for (const byte of bytes) {
      guard.push(Buffer.of(byte))
      through += all()
    }
    expect(through).toBe(bytes.toString('hex'))
    expect(judged).toEqual([['own', 'ca']])
  })

  it('waits with the beginning of certificates for their end', () => {
    const { guard, judged, all } = watched()
    const [first, second] = [certificates.subarray(0, 9), certificates.subarray(9)].map(handshakeRecord) as [
      Buffer,
      Buffer,
    ]
    guard.push(first)
    expect(all()).toBe('')
    guard.push(second)
    expect(all()).toBe(Buffer.concat([first, second]).toString('hex'))
    expect(judged).toHaveLength(1)
  })

  it('waits where only the type of a message has come', () => {
    const { guard, all } = watched()
    guard.push(handshakeRecord(certificates.subarray(0, 1)))
    expect(all()).toBe('')
  })

  it.each([
    ['alone', [handshakeRecord(message(CERTIFICATE, tls12List('own', 'dear')))]],
    [
      'behind another message',
      [handshakeRecord(Buffer.concat([message(2, Buffer.alloc(9)), message(CERTIFICATE, tls12List('dear'))]))],
    ],
    ['over many records', [...message(CERTIFICATE, tls12List('dear'))].map((byte) => handshakeRecord(Buffer.of(byte)))],
  ])('lets no certificate through that costs too much, %s', (_how, records) => {
    const { guard, all } = watched()
    guard.push(Buffer.concat(records))
    expect(all).toThrow('too dear')
  })

  it.each([
    ['a list that is longer than its message', message(CERTIFICATE, Buffer.from([0, 0, 9, 1]))],
    ['a certificate that is longer than its list', message(CERTIFICATE, withLength(3, Buffer.from([0, 0, 9, 1])))],
    ['something behind the list', message(CERTIFICATE, Buffer.concat([tls12List('own'), Buffer.of(1)]))],
    ['compressed certificates', message(COMPRESSED_CERTIFICATE, Buffer.alloc(9))],
  ])('refuses %s', (_what, bytes) => {
    const { guard, all } = watched()
    guard.push(handshakeRecord(bytes))
    expect(all).toThrow(HandshakeRefusal)
  })

  it.each([
    ['client', CLIENT_KEY_EXCHANGE],
    ['server', SERVER_HELLO_DONE],
  ])('lets the last message of a %s through that it cannot read, and no more than that', (_peer, last) => {
    const { guard, all } = watched()
    const end = Buffer.concat([
      handshakeRecord(message(last, Buffer.alloc(9))),
      record(RecordType.changeCipherSpec, Buffer.of(1)),
      handshakeRecord(Buffer.alloc(40, CERTIFICATE)),
    ])
    guard.push(end)
    expect(all()).toBe(end.toString('hex'))
    guard.push(handshakeRecord(Buffer.alloc(MAX_FINISHED_BYTES, CERTIFICATE)))
    expect(all).toThrow(`more than ${MAX_FINISHED_BYTES} bytes`)
  })
})

describe('a peer that says too early that it turns encryption on', () => {
  const early = record(RecordType.changeCipherSpec, Buffer.of(1))

  it('may say hello once more, as after a HelloRetryRequest', () => {
    const { guard, all } = watched()
    const bytes = Buffer.concat([early, handshakeRecord(message(CLIENT_HELLO, Buffer.alloc(MAX_FINISHED_BYTES * 2)))])
    guard.push(bytes)
    expect(all()).toBe(bytes.toString('hex'))
  })

  it('hides no certificate by it', () => {
    const { guard, all } = watched()
    guard.push(Buffer.concat([early, handshakeRecord(message(CERTIFICATE, tls12List('dear')))]))
    expect(all).toThrow('too dear')
  })
})

describe('a handshake with encryption', () => {
  it('waits for the key, and then judges what is inside', () => {
    const { guard, judged, all } = watched()
    const bytes = sealed(RecordType.handshake, message(CERTIFICATE, tls13List('own', 'ca')))
    guard.push(bytes)
    expect(all()).toBe('')
    guard.unlock(noKey)
    expect(all()).toBe(bytes.toString('hex'))
    expect(judged).toEqual([['own', 'ca']])
  })

  it('lets no certificate through that costs too much', () => {
    const { guard, all } = watched()
    guard.unlock(noKey)
    guard.push(record(RecordType.changeCipherSpec, Buffer.of(1)))
    guard.push(sealed(RecordType.handshake, message(CERTIFICATE, tls13List('dear'))))
    expect(all).toThrow('too dear')
  })

  it('takes no message without it any more', () => {
    const { guard, all } = watched()
    guard.unlock(noKey)
    guard.push(handshakeRecord(message(CERTIFICATE, tls12List('own'))))
    expect(all).toThrow('not encrypted')
  })
})

describe('what is no handshake', () => {
  it.each([
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['the hello of SSL 2', Buffer.from([0x80, 0x2e, 1, 3, 3, 0, 0x15])],
    ['a record of more than a record holds', Buffer.from([22, 3, 3, 0xff, 0xff, 0])],
  ])('shows OpenSSL the first bytes of %s, and nothing that follows', (_what, bytes) => {
    const { guard } = watched()
    guard.push(Buffer.concat([bytes, handshakeRecord(message(CERTIFICATE, tls12List('own')))]))
    expect(guard.next()).toEqual(bytes.subarray(0, 5))
    expect(() => guard.next()).toThrow('this is not TLS')
  })

  it('is more than a handshake takes', () => {
    const large = watched()
    large.guard.push(handshakeRecord(message(CLIENT_HELLO, Buffer.alloc(MAX_HANDSHAKE_MESSAGE_BYTES + 1))))
    expect(large.all).toThrow(`more than ${MAX_HANDSHAKE_MESSAGE_BYTES} bytes`)
    const long = watched()
    const filler = handshakeRecord(message(CLIENT_HELLO, Buffer.alloc(MAX_HANDSHAKE_MESSAGE_BYTES)))
    for (let bytes = 0; bytes <= MAX_HANDSHAKE_BYTES; bytes += filler.length) long.guard.push(filler)
    expect(long.all).toThrow(`more than ${MAX_HANDSHAKE_BYTES} bytes`)
    const many = watched()
    for (let each = 0; each <= MAX_HANDSHAKE_RECORDS; each += 1)
      many.guard.push(record(RecordType.alert, Buffer.of(1, 0)))
    expect(many.all).toThrow(`more than ${MAX_HANDSHAKE_RECORDS} records`)
    const waiting = watched()
    const push = (): void => waiting.guard.push(Buffer.alloc(MAX_HANDSHAKE_WAITING_BYTES + 1))
    expect(push).toThrow(`more than ${MAX_HANDSHAKE_WAITING_BYTES} bytes`)
  })
})
