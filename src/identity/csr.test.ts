import { execFileSync, spawnSync } from 'node:child_process'
import type { KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRequest, MAX_REQUEST_BYTES, parseRequest, readRequest } from './csr.ts'
import { userName } from './distinguished-name.ts'
import { generateKeys, type KeyKind, keyFingerprint, privateKeyPem } from './keys.ts'
import { readPem, writePem } from './pem.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

// The request printed in KubeEdge's design "edge pod list-watch native".
const kubeEdgeSample = Buffer.from(
  [
    'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQkdqQ0J3UUlCQURBM01SVXdFd1lEVlFRS0V3eHplWE4wWlcwNmJtOWta',
    'WE14SGpBY0JnTlZCQU1URlhONQpjM1JsYlRwdWIyUmxPbVZrWjJVdGJtOWtaVEJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSEEwSUFC',
    'THZSCkJLa3c0cVpMb216aXNGVDhsNmJaU0I1Qm9DV0o5ejMvcTc1WTJNVXl0QTl2K2dSRVlsNkt5d1ByaGREdU12WFIKOWFnMlpCUzF1NmVM',
    'Y3NlQ0lXU2dLREFtQmdrcWhraUc5dzBCQ1E0eEdUQVhNQlVHQTFVZEVRUU9NQXlIQkg4QQpBQUdIQktuK0ZBb3dDZ1lJS29aSXpqMEVBd0lE',
    'U0FBd1JRSWdaSVhkNVQ5SUw3dDNjdDAxb3ArQ1U3Y2d5eFhZCitvZkxWK2lvSEZObk1rRUNJUURhUzZpdWpuVFdhZ3dkOVozVXMvRnU5WFVy',
    'YVo1N3BpY3puRGgwM0haUkxBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==',
  ].join(''),
  'base64',
)

describe('readRequest', () => {
  it('reads the sample of the KubeEdge design', async () => {
    const request = await readRequest(kubeEdgeSample)
    expect(request.subject).toEqual(userName('system:node:edge-node', ['system:nodes']))
    expect(request.names).toMatchObject({ dnsNames: [], ipAddresses: ['127.0.0.1', '169.254.20.10'], otherKinds: [] })
    expect(request.publicKey.asymmetricKeyDetails?.namedCurve).toBe('prime256v1')
    expect(request.extensions.map(({ oid }) => oid)).toEqual(['2.5.29.17'])
  })

  it.each<KeyKind>([
    { type: 'ec', curve: 'P-256' },
    { type: 'ec', curve: 'P-384' },
    { type: 'ec', curve: 'P-521' },
    { type: 'rsa', bits: 2048 },
    { type: 'ed25519' },
  ])('reads what createRequest made with %o', async (kind) => {
    const { privateKey } = await generateKeys(kind)
    const names = { dnsNames: ['a'], ipAddresses: ['::1'], uris: ['spiffe://a'], emailAddresses: ['a@example.org'] }
    const request = await readRequest(await createRequest({ subject: userName('x', ['y', 'z']), names }, privateKey))
    expect(request.subject).toEqual(userName('x', ['y', 'z']))
    expect(request.names).toEqual({ ...names, otherKinds: [] })
    expect(keyFingerprint(request.publicKey)).toBe(keyFingerprint(privateKey))
  })

  it('reads one without any extension', async () => {
    const { privateKey } = await generateKeys()
    const request = await readRequest(await createRequest({ subject: userName('x') }, privateKey))
    expect(request).toMatchObject({ extensions: [], isCa: false, keyUsages: undefined })
  })

  it('believes none in which a single byte was changed', async () => {
    const { privateKey } = await generateKeys()
    const pem = await createRequest({ subject: userName('system:node:a'), names: { dnsNames: ['a'] } }, privateKey)
    const der = readPem(pem, 'x')[0]?.der ?? Buffer.alloc(0)
    await fc.assert(
      fc.asyncProperty(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const changed = Buffer.from(der)
        changed[at] = (changed[at] ?? 0) ^ flip
        await expect(parseRequest(changed)).rejects.toMatchObject({ name: 'IdentityError' })
      }),
      { numRuns: 500 },
    )
  })

  it('refuses a key that somebody else signed for', async () => {
    const [mine, other] = await Promise.all([generateKeys(), generateKeys()])
    const [a, b] = await Promise.all(
      [mine, other].map(async ({ privateKey }) => {
        const pem = await createRequest({ subject: userName('x') }, privateKey)
        return readPem(pem, 'x')[0]?.der.toString('latin1') ?? ''
      }),
    )
    const point = (key: typeof mine) =>
      key.publicKey.export({ type: 'spki', format: 'der' }).subarray(-64).toString('latin1')
    const swapped = Buffer.from(
      (a ?? '').replace(point(mine), () => point(other)),
      'latin1',
    )
    expect(swapped.toString('latin1')).not.toBe(a)
    await expect(parseRequest(swapped)).rejects.toMatchObject({ code: 'bad-proof' })
    await expect(parseRequest(Buffer.from(b ?? '', 'latin1'))).resolves.toBeDefined()
  })

  it.each([
    ['none-found', ''],
    ['none-found', '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n'],
    ['several-found', '-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n'.repeat(2)],
    ['malformed-request', '-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n'],
    ['malformed-der', '-----BEGIN CERTIFICATE REQUEST-----\nMIA=\n-----END CERTIFICATE REQUEST-----\n'],
    ['malformed-pem', '-----BEGIN CERTIFICATE REQUEST-----\nM\n-----END CERTIFICATE REQUEST-----\n'],
    ['too-large', 'x'.repeat(2 * 1024 * 1024)],
    ['too-large', writePem('CERTIFICATE REQUEST', new Uint8Array(MAX_REQUEST_BYTES + 1))],
  ])('%s', async (code, pem) => {
    await expect(readRequest(pem)).rejects.toMatchObject({ name: 'IdentityError', code })
  })
})

describe('createRequest', () => {
  it('refuses names that cannot be', async () => {
    const { privateKey } = await generateKeys()
    const template = { subject: userName('x'), names: { ipAddresses: ['nowhere'] } }
    await expect(createRequest(template, privateKey)).rejects.toMatchObject({ code: 'invalid-template' })
  })
})

describe.runIf(hasOpenssl)('beside openssl', () => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'identity-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  function keyFile(key: KeyObject): string {
    const path = join(folder, 'key.pem')
    writeFileSync(path, privateKeyPem(key))
    return path
  }

  it('our requests pass its check', async () => {
    const { privateKey } = await generateKeys()
    const names = { dnsNames: ['a.example'], ipAddresses: ['fe80::1'] }
    const pem = await createRequest({ subject: userName('system:node:a', ['system:nodes']), names }, privateKey)
    const { stdout, stderr, status } = spawnSync('openssl', ['req', '-verify', '-noout', '-text'], { input: pem })
    expect(status).toBe(0)
    expect(stderr.toString()).toContain('verify OK')
    expect(stdout.toString()).toContain('Subject: O = system:nodes, CN = system:node:a')
    expect(stdout.toString()).toContain('DNS:a.example, IP Address:FE80:0:0:0:0:0:0:1')
  })

  it('its requests pass ours', async () => {
    const { privateKey } = await generateKeys({ type: 'rsa', bits: 2048 })
    const names = 'subjectAltName=DNS:a.example,IP:10.0.0.1,URI:spiffe://a'
    const usages = ['-addext', 'keyUsage=digitalSignature,keyEncipherment', '-addext', 'extendedKeyUsage=serverAuth']
    const command = [
      'req',
      '-new',
      '-key',
      keyFile(privateKey),
      '-subj',
      '/O=system:nodes/CN=system:node:a',
      '-addext',
      names,
      ...usages,
    ]
    const request = await readRequest(execFileSync('openssl', command))
    expect(request.subject).toEqual(userName('system:node:a', ['system:nodes']))
    expect(request).toMatchObject({
      names: { dnsNames: ['a.example'], ipAddresses: ['10.0.0.1'], uris: ['spiffe://a'] },
      keyUsages: ['digitalSignature', 'keyEncipherment'],
      extendedKeyUsages: ['serverAuth'],
      isCa: false,
    })
  })

  it('one that is signed with SHA-1 is refused', async () => {
    const { privateKey } = await generateKeys({ type: 'rsa', bits: 2048 })
    const command = ['req', '-new', '-key', keyFile(privateKey), '-subj', '/CN=a', '-sha1']
    const pem = execFileSync('openssl', command)
    await expect(readRequest(pem)).rejects.toMatchObject({ code: 'unsupported-algorithm' })
  })
})
