import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../runtime/clock.ts'
import { certificatePem } from './certificate.ts'
import { userName } from './distinguished-name.ts'
import { type CertificateAuthority, issueCertificate, issueSelfSignedCa, validityFromNow } from './issue.ts'
import { generateKeys, type KeyKind, privateKeyPem } from './keys.ts'
import { MAX_PRESENTED_BYTES, peerCertificates, readPresented } from './peer.ts'
import { verifyCertificate } from './verify.ts'

const life = validityFromNow(systemClock, 3_600_000)

interface Credential {
  readonly cert: string
  readonly key: string
}

async function makeCa(kind?: KeyKind): Promise<CertificateAuthority> {
  return await issueSelfSignedCa({ ...life, subject: userName('ca') }, (await generateKeys(kind)).privateKey)
}

async function makeMiddle(ca: CertificateAuthority): Promise<CertificateAuthority> {
  const { privateKey, publicKey } = await generateKeys()
  const certificate = await issueCertificate(ca, { ...life, subject: userName('middle'), ca: {} }, publicKey)
  return { certificate, privateKey }
}

async function credential(
  ca: CertificateAuthority,
  usage: 'clientAuth' | 'serverAuth',
  chain = '',
): Promise<Credential> {
  const { privateKey, publicKey } = await generateKeys()
  const names = usage === 'serverAuth' ? { dnsNames: ['hub.example'], ipAddresses: ['127.0.0.1'] } : {}
  const template = { ...life, subject: userName(usage), names, extendedKeyUsages: [usage] }
  const certificate = await issueCertificate(ca, template, publicKey)
  return { cert: certificatePem(certificate) + chain, key: privateKeyPem(privateKey) }
}

/** A real handshake on loopback; `inspect` sees the server's side of it. */
async function handshake<T>(
  server: Credential,
  client: Partial<Credential>,
  ca: string,
  inspect: (socket: TLSSocket) => T,
): Promise<T> {
  const listener = createServer({ ...server, ca, requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.3' })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const accepted = once(listener, 'secureConnection') as Promise<[TLSSocket]>
  const socket = connect({ port, host: '127.0.0.1', servername: 'hub.example', ca, ...client })
  try {
    const [[peer]] = await Promise.all([accepted, once(socket, 'secureConnect')])
    expect(socket.getProtocol()).toBe('TLSv1.3')
    expect(socket.authorized).toBe(true)
    return inspect(peer)
  } finally {
    socket.destroy()
    listener.close()
    await once(listener, 'close')
  }
}

describe('a TLS 1.3 handshake with issued certificates', () => {
  it.each<KeyKind>([
    { type: 'ec', curve: 'P-256' },
    { type: 'ec', curve: 'P-384' },
    { type: 'rsa', bits: 2048 },
  ])('succeeds with a CA of %o, and the peer verifies', async (kind) => {
    const ca = await makeCa(kind)
    const trust = [ca.certificate]
    const [server, client] = await Promise.all([credential(ca, 'serverAuth'), credential(ca, 'clientAuth')])
    const peer = await handshake(server, client, certificatePem(ca.certificate), peerCertificates)
    expect(peer?.certificate.subject).toEqual(userName('clientAuth'))
    const options = { trust, intermediates: peer?.intermediates ?? [], atMs: systemClock.nowMs() }
    const certificate = peer?.certificate ?? ca.certificate
    expect(verifyCertificate(certificate, { ...options, usage: 'clientAuth' }).ok).toBe(true)
    expect(verifyCertificate(certificate, { ...options, usage: 'serverAuth' }).ok).toBe(false)
  })

  it('carries the intermediates that the client sent', async () => {
    const ca = await makeCa()
    const middle = await makeMiddle(ca)
    const client = await credential(middle, 'clientAuth', certificatePem(middle.certificate))
    const peer = await handshake(
      await credential(ca, 'serverAuth'),
      client,
      certificatePem(ca.certificate),
      peerCertificates,
    )
    const options = { trust: [ca.certificate], usage: 'clientAuth', atMs: systemClock.nowMs() } as const
    const verification = verifyCertificate(peer?.certificate ?? ca.certificate, {
      ...options,
      intermediates: peer?.intermediates ?? [],
    })
    expect(verification).toMatchObject({ ok: true, chain: { length: 3 } })
  })

  it('shows a foreign client for what it is', async () => {
    const [ca, foreign] = await Promise.all([makeCa(), makeCa()])
    const client = await credential(foreign, 'clientAuth', certificatePem(foreign.certificate))
    const peer = await handshake(
      await credential(ca, 'serverAuth'),
      client,
      certificatePem(ca.certificate),
      peerCertificates,
    )
    expect(
      verifyCertificate(peer?.certificate ?? ca.certificate, {
        trust: [ca.certificate],
        intermediates: peer?.intermediates ?? [],
        usage: 'clientAuth',
        atMs: systemClock.nowMs(),
      }),
    ).toMatchObject({ ok: false, reason: 'untrusted' })
  })

  it('without a client certificate yields none', async () => {
    const ca = await makeCa()
    const peer = await handshake(
      await credential(ca, 'serverAuth'),
      {},
      certificatePem(ca.certificate),
      peerCertificates,
    )
    expect(peer).toBeUndefined()
  })
})

describe('what a peer presents', () => {
  it('is not read where there is more of it than any peer needs', async () => {
    const ca = await makeCa()
    const names = { dnsNames: Array.from({ length: 500 }, (_, index) => `name-${index}.example`) }
    const { certificate } = ca
    const large = (await issueCertificate(ca, { ...life, subject: userName('x'), names }, certificate.publicKey)).der
    expect(readPresented([large, certificate.der], 'client')?.intermediates).toHaveLength(1)
    const crowd = Array.from({ length: Math.ceil(MAX_PRESENTED_BYTES / large.length) + 1 }, () => large)
    expect(() => readPresented(crowd, 'client')).toThrow(`certificates of more than ${MAX_PRESENTED_BYTES} bytes`)
    expect(readPresented([], 'client')).toBeUndefined()
  })
})
