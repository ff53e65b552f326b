import { once } from 'node:events'
import { type AddressInfo, connect as connectTcp, createServer, type Server, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls, createSecureContext, createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { certificatePem } from '../../../src/identity/certificate.ts'
import { userName } from '../../../src/identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from '../../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../../src/identity/keys.ts'
import { presentedCertificates } from '../../../src/identity/peer.ts'
import { MAX_HANDSHAKE_CERTIFICATES } from '../../../src/network/tls/chain-price.ts'
import { type ServerVerification, secureAsClient } from '../../../src/network/tls/client-tls.ts'
import { TLS_CONTEXT } from '../../../src/network/tls/context-options.ts'
import { secureAsServer } from '../../../src/network/tls/server-tls.ts'
import { systemClock } from '../../../src/runtime/clock.ts'

interface Pair {
  readonly certificatePem: string
  readonly keyPem: string
}

const life = validityFromNow(systemClock, 3_600_000)
const never = new AbortController().signal
const cleanups: (() => unknown)[] = []
let ca: CertificateAuthority
let server: Pair
let client: Pair
/** Of more certificates than are looked at. */
let longClient: Pair
let longServer: Pair

async function pairOf(by: CertificateAuthority, above = ''): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeys()
  const template = { ...life, subject: userName('peer'), names: { dnsNames: ['hub.example'], ipAddresses: [] } }
  const certificate = await issueCertificate(by, template, publicKey)
  return { certificatePem: certificatePem(certificate) + above, keyPem: privateKeyPem(privateKey) }
}

async function longChain(): Promise<[CertificateAuthority, string]> {
  let last = ca
  let above = ''
  for (let depth = 0; depth < MAX_HANDSHAKE_CERTIFICATES; depth += 1) {
    const { privateKey, publicKey } = await generateKeys()
    const certificate = await issueCertificate(last, { ...life, subject: userName(`ca-${depth}`), ca: {} }, publicKey)
    last = { certificate, privateKey }
    above = certificatePem(certificate) + above
  }
  return [last, above]
}

beforeAll(async () => {
  ca = await issueSelfSignedCa({ ...life, subject: userName('ca') }, (await generateKeys()).privateKey)
  server = await pairOf(ca)
  client = await pairOf(ca)
  const [last, above] = await longChain()
  longClient = await pairOf(last, above)
  longServer = await pairOf(last, above)
})

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** Two ends of one connection. */
async function tcpPair(): Promise<[near: Socket, far: Socket]> {
  const listener: Server = createServer({ allowHalfOpen: true })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const near = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true })
  const [far] = (await once(listener, 'connection')) as [Socket]
  listener.close()
  for (const socket of [near, far]) {
    socket.on('error', () => {})
    cleanups.push(() => socket.destroy())
  }
  return [near, far]
}

/** The same connection as a stream without a handle, as those within a tunnel are. */
function asStream(socket: Socket): Duplex {
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (bytes, _encoding, done) => void socket.write(bytes, done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (bytes) => stream.push(bytes) || socket.pause())
  socket.on('end', () => stream.push(null))
  socket.on('close', () => stream.destroy())
  return stream.on('error', () => {})
}

const carriers: [string, (socket: Socket) => Duplex][] = [
  ['a connection', (socket) => socket],
  ['a stream', asStream],
]

function serve(carrier: Duplex, pair = server): Promise<TLSSocket> {
  const context = createSecureContext({
    ...TLS_CONTEXT,
    cert: pair.certificatePem,
    key: pair.keyPem,
    ca: certificatePem(ca.certificate),
  })
  const secured = secureAsServer(carrier, { clock: systemClock, limitMs: 60_000, secureContext: () => context })
  secured.catch(() => {})
  return secured
}

interface ForeignClient {
  readonly pair?: Pair
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3'
  readonly ciphers?: string
  readonly ecdhCurve?: string
}

/** Node's own, as a stranger is. */
function foreignClient(socket: Socket, { pair, ...options }: ForeignClient = {}): TLSSocket {
  const identity = pair === undefined ? {} : { cert: pair.certificatePem, key: pair.keyPem }
  const secured = connectTls({ socket, ...identity, ...options, rejectUnauthorized: false, servername: 'hub.example' })
  return secured.on('error', () => {})
}

async function readAll(socket: Duplex): Promise<Buffer> {
  const pieces: Buffer[] = []
  socket.on('data', (piece) => pieces.push(piece))
  await once(socket, 'end')
  return Buffer.concat(pieces)
}

/** Unlike `once`, whatever error it closes with. */
async function closeOf(socket: Duplex): Promise<void> {
  if (!socket.closed) await new Promise((closed) => socket.once('close', closed))
}

const LARGE = Buffer.alloc(3 * 1024 * 1024, 'large ')

describe.each(carriers)('TLS as the server, on %s', (_name, carry) => {
  const versions: [string, ForeignClient][] = [
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }],
    ['TLS 1.3', {}],
    ['TLS 1.3 with AES-128', { ciphers: 'TLS_AES_128_GCM_SHA256' }],
    ['TLS 1.3 with ChaCha20', { ciphers: 'TLS_CHACHA20_POLY1305_SHA256' }],
  ]

  it.each(versions)(
    'sees the certificate of a client of %s, and carries bytes both ways',
    async (_version, options) => {
      const [near, far] = await tcpPair()
      const secured = serve(carry(far))
      const outside = foreignClient(near, { ...options, pair: client })
      // All at once: what follows the handshake may come along with its end.
      outside.end(LARGE)
      const socket = await secured
      expect(presentedCertificates(socket)).toHaveLength(1)
      const received = readAll(socket)
      expect((await received).equals(LARGE)).toBe(true)
      socket.end(LARGE)
      expect((await readAll(outside)).equals(LARGE)).toBe(true)
    },
  )

  it.each(versions)('lets a client of %s in that presents nothing', async (_version, options) => {
    const [near, far] = await tcpPair()
    const secured = serve(carry(far))
    foreignClient(near, options)
    expect(presentedCertificates(await secured)).toEqual([])
  })

  it.each(versions)('refuses a client of %s that presents too long a chain', async (_version, options) => {
    const [near, far] = await tcpPair()
    const secured = serve(carry(far))
    const outside = foreignClient(near, { ...options, pair: longClient })
    await expect(secured).rejects.toThrow(`more than ${MAX_HANDSHAKE_CERTIFICATES} certificates are presented`)
    if (!outside.readableEnded) await closeOf(outside.resume().on('end', () => outside.destroy()))
  })

  it.each([
    ['a finite field as large as the client likes', { ecdhCurve: 'ffdhe8192' }],
    ['a finite field in TLS 1.2', { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256' }],
  ] as const)('has no key exchange over %s', async (_what, options) => {
    const [near, far] = await tcpPair()
    const secured = serve(carry(far))
    foreignClient(near, options)
    await expect(secured).rejects.toThrow(/no suitable key share|no shared cipher|NO_SUITABLE|NO_SHARED/)
  })

  it('waits for a client that hesitates between any two bytes', async () => {
    const [near, far] = await tcpPair()
    const secured = serve(carry(far))
    const slow = new Duplex({
      read: () => {},
      write: (bytes: Buffer, _encoding, done) => {
        void (async () => {
          for (const byte of bytes) await new Promise((sent) => near.write(Buffer.of(byte), sent))
          done()
        })()
      },
    })
    near.setNoDelay(true).on('data', (bytes) => slow.push(bytes))
    foreignClient(slow as Socket, { pair: client })
    expect(presentedCertificates(await secured)).toHaveLength(1)
  })

  it.each([
    ['at once', ''],
    ['after something else than TLS', 'GET / HTTP/1.1\r\n\r\n'],
    ['in the middle of a record', '\u0016\u0003\u0001\u0002\u0000abc'],
  ])('rejects when the client leaves %s', async (_when, sent) => {
    const [near, far] = await tcpPair()
    const secured = serve(carry(far))
    near.end(Buffer.from(sent, 'latin1'))
    await expect(secured).rejects.toThrow()
    await closeOf(far)
  })

  it('rejects when it is destroyed', async () => {
    const [, far] = await tcpPair()
    const carrier = carry(far)
    const secured = serve(carrier)
    carrier.destroy()
    await expect(secured).rejects.toThrow('the client left during its TLS handshake')
  })

  it('ends with the socket underneath', async () => {
    const [near, far] = await tcpPair()
    const secured = serve(carry(far))
    foreignClient(near)
    const socket = await secured
    near.resetAndDestroy()
    await closeOf(socket.resume())
    expect(far.destroyed).toBe(true)
  })
})

describe.each(carriers)('TLS as the client, on %s', (_name, carry) => {
  async function foreignServer(pair: Pair, maxVersion: 'TLSv1.2' | 'TLSv1.3'): Promise<Socket> {
    const options = { cert: pair.certificatePem, key: pair.keyPem, maxVersion, requestCert: true }
    const listener = createTlsServer({ ...options, rejectUnauthorized: false, allowHalfOpen: true })
    listener.on('secureConnection', (socket) => socket.on('error', () => {}).pipe(socket))
    listener.on('tlsClientError', () => {})
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    cleanups.push(() => listener.close())
    const { port } = listener.address() as AddressInfo
    const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
    cleanups.push(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }

  const secure = (carrier: Duplex, verification: ServerVerification): Promise<TLSSocket> =>
    secureAsClient(carrier, { host: 'hub.example', protocols: [], pair: client, verification, signal: never })

  const byCa = (): ServerVerification => ({ by: 'ca', caPem: certificatePem(ca.certificate) })

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('believes a server of %s by its CA, and carries bytes', async (version) => {
    const socket = await secure(carry(await foreignServer(server, version)), byCa())
    expect(socket.getProtocol()).toBe(version)
    socket.end(LARGE)
    expect((await readAll(socket)).equals(LARGE)).toBe(true)
  })

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('refuses a server of %s that presents too long a chain', async (version) => {
    const secured = secure(carry(await foreignServer(longServer, version)), byCa())
    await expect(secured).rejects.toThrow(`more than ${MAX_HANDSHAKE_CERTIFICATES} certificates are presented`)
  })

  it('has no key exchange over a finite field, and no second handshake', async () => {
    const carrier = carry(await foreignServer(server, 'TLSv1.2'))
    const socket = await secure(carrier, byCa())
    expect(socket.getCipher().name).toMatch(/^ECDHE-/)
    const isBegun = socket.renegotiate({}, () => {})
    expect(isBegun).toBe(false)
  })

  it('believes nobody whose CA it does not know', async () => {
    const secured = secure(carry(await foreignServer(server, 'TLSv1.3')), { by: 'ca', caPem: undefined })
    await expect(secured).rejects.toMatchObject({ name: 'UntrustedServerError', reason: expect.any(String) })
  })

  it('believes nobody whom the judge refuses', async () => {
    const carrier = carry(await foreignServer(server, 'TLSv1.3'))
    const judge = (): void => {
      throw new Error('not the one')
    }
    await expect(secure(carrier, { by: 'judge', judge })).rejects.toThrow('not the one')
    expect(carrier.destroyed).toBe(true)
  })
})
