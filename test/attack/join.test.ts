/** Those who want to be a node and must not become one, each over a real TLS connection. */
import { beforeEach, describe, expect, it } from 'vitest'
import { NODE_CERTIFICATE_LIFE_MS } from '../../src/hub/join/issue-node-certificate.ts'
import { readCertificates } from '../../src/identity/certificate.ts'
import { formatName, userName } from '../../src/identity/distinguished-name.ts'
import { validityFromNow } from '../../src/identity/issue.ts'
import { readPem, writePem } from '../../src/identity/pem.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { FakeCluster, makeCa } from '../worlds/fake-cluster.ts'
import {
  ask,
  codeOf,
  credentialFor,
  type HubWorld,
  join,
  joined,
  signingRequest,
  startHub,
} from '../worlds/hub-world.ts'

let world: HubWorld

beforeEach(async () => {
  world = await startHub()
})

/** The code of the answer to a join as `node`, by default with a good token for any node. */
async function joinAs(node: string, jwt?: string): Promise<string> {
  const { pem } = await signingRequest(node)
  return codeOf(await join(world, jwt ?? (await world.cluster.mint()), pem))
}

/** What the hub signed, whatever the request asked for. */
async function signed(pem: string, jwt?: string): Promise<ReturnType<typeof readCertificates>[0]> {
  const response = await join(world, jwt ?? (await world.cluster.mint()), pem)
  expect(response.status, response.body).toBe(200)
  return readCertificates(response.body, 'the answer')[0]
}

describe('a token holder asks', () => {
  it("for another node's name: refused while that node holds it", async () => {
    await joined(world, 'edge-1')
    expect(await joinAs('edge-1')).toBe('name-taken')
  })

  it('for a name that its token does not name: refused', async () => {
    expect(await joinAs('edge-2', await world.cluster.mint({ node: 'edge-1' }))).toBe('token-for-other-node')
    expect(await joinAs('pump-1', await world.cluster.mint({ node: 'edge-*' }))).toBe('token-for-other-node')
  })

  it('for a taken name with a token whose pattern covers it: refused, since covering is not naming', async () => {
    await joined(world, 'edge-1')
    expect(await joinAs('edge-1', await world.cluster.mint({ node: 'edge-*' }))).toBe('name-taken')
    expect(await joinAs('edge-1', await world.cluster.mint({ node: 'edge-1' }))).toBe('ok')
  })

  it("for an existing control-plane Node's name: refused unless the token names it", async () => {
    world.cluster.nodeNames.add('control-plane-1')
    expect(await joinAs('control-plane-1')).toBe('node-exists')
    expect(world.cluster.claims.known('control-plane-1')).toBeUndefined()
    expect(await joinAs('control-plane-1', await world.cluster.mint({ node: 'control-plane-1' }))).toBe('ok')
  })

  it("for a forgotten node's name while its Node object still stands: refused", async () => {
    await joined(world, 'edge-1')
    world.cluster.nodeNames.add('edge-1')
    await world.cluster.claims.forget('edge-1')
    expect(await joinAs('edge-1')).toBe('node-exists')
    world.cluster.nodeNames.delete('edge-1')
    expect(await joinAs('edge-1')).toBe('ok')
  })

  it('for serverAuth and for extra SANs: gets neither', async () => {
    const names = { dnsNames: ['kubernetes.default.svc'], ipAddresses: ['10.0.0.1'], uris: ['spiffe://cluster/admin'] }
    const certificate = await signed((await signingRequest('edge-1', { names })).pem)
    expect(certificate).toMatchObject({
      isCa: false,
      extendedKeyUsages: ['clientAuth'],
      keyUsages: ['digitalSignature'],
      names: { dnsNames: [], ipAddresses: [], uris: [], emailAddresses: [], otherKinds: [] },
    })
  })

  it('for the groups of an admin beside a node name: gets the group of nodes and no other', async () => {
    const subject = userName('system:node:edge-1', ['system:masters', 'system:nodes'])
    const certificate = await signed((await signingRequest('edge-1', { subject })).pem)
    expect(formatName(certificate.subject)).toBe('O=system:nodes, CN=system:node:edge-1')
  })

  it('for the CN of an admin: refused', async () => {
    const jwt = await world.cluster.mint()
    const subjects = [
      userName('kubernetes-admin', ['system:masters']),
      userName('system:admin', ['system:nodes']),
      userName('system:node:', ['system:nodes']),
      userName('system:node:Edge_1', ['system:nodes']),
      userName('system:node:edge-1\nsystem:masters', ['system:nodes']),
      [...userName('system:node:edge-1', ['system:nodes']), ...userName('kubernetes-admin')],
    ]
    for (const subject of subjects) {
      const { pem } = await signingRequest('edge-1', { subject })
      expect(codeOf(await join(world, jwt, pem)), formatName(subject)).toBe('name-invalid')
    }
  })
})

describe('a node', () => {
  it('A rotates into node B: refused', async () => {
    const a = await joined(world, 'edge-a')
    await joined(world, 'edge-b')
    const before = world.cluster.claims.known('edge-b')
    const { pem } = await signingRequest('edge-b')
    const response = await ask(world, { method: 'POST', path: '/edge.crt', body: pem, credential: a })
    expect(codeOf(response)).toBe('node-mismatch')
    expect(world.cluster.claims.known('edge-b')).toEqual(before)
  })

  it('presents a certificate and a token together: refused, since only one can be meant', async () => {
    const credential = await joined(world, 'edge-a')
    const { pem } = await signingRequest('edge-b')
    const headers = { authorization: `Bearer ${await world.cluster.mint()}` }
    const response = await ask(world, { method: 'POST', path: '/edge.crt', headers, body: pem, credential })
    expect(codeOf(response)).toBe('bad-request')
  })

  it('joins with a stolen certificate after forget: refused everywhere', async () => {
    const stolen = await joined(world, 'edge-1')
    await world.cluster.claims.forget('edge-1')
    const { pem } = await signingRequest('edge-1')
    for (const http2 of [false, true]) {
      const rotation = { method: 'POST', path: '/edge.crt', body: pem, credential: stolen, http2 }
      expect(codeOf(await ask(world, rotation))).toBe('certificate-revoked')
      expect(codeOf(await ask(world, { path: '/v1/node', credential: stolen, http2 }))).toBe('certificate-revoked')
    }
    expect(world.cluster.claims.known('edge-1')).toMatchObject({ state: 'released' })
  })

  it('is replaced by a join with a token for it: the key from before counts for nothing', async () => {
    const old = await joined(world, 'edge-1')
    const now = await joined(world, 'edge-1', await world.cluster.mint({ node: 'edge-1' }))
    expect(codeOf(await ask(world, { path: '/v1/node', credential: old }))).toBe('certificate-revoked')
    expect(codeOf(await ask(world, { path: '/v1/node', credential: now }))).toBe('ok')
  })

  it('uses its old key after the new one was seen: refused', async () => {
    const old = await joined(world, 'edge-1')
    const { pem, keys } = await signingRequest('edge-1')
    const answer = await ask(world, { method: 'POST', path: '/edge.crt', body: pem, credential: old })
    const renewed = { cert: answer.body, key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string }
    expect(codeOf(await ask(world, { path: '/v1/node', credential: old }))).toBe('ok')
    expect(codeOf(await ask(world, { path: '/v1/node', credential: renewed }))).toBe('ok')
    expect(codeOf(await ask(world, { path: '/v1/node', credential: old }))).toBe('certificate-revoked')
  })
})

describe('a token', () => {
  it('of another cluster: refused, by its audience and by its key', async () => {
    const elsewhere = new FakeCluster(world.clock, world.cluster.ca, 'cluster-2')
    expect(await joinAs('edge-1', await elsewhere.mint())).toBe('token-invalid')
    const sameAudience = new FakeCluster(world.clock, world.cluster.ca)
    expect(await joinAs('edge-1', await sameAudience.mint())).toBe('token-invalid')
  })

  it('altered, truncated or with alg none: refused', async () => {
    const jwt = await world.cluster.mint({ node: 'edge-9' })
    const [header = '', payload = '', signature = ''] = jwt.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const altered = encode({ ...claims, node: 'edge-1' })
    const none = encode({ alg: 'none', typ: 'JWT', kid: 'key-1' })
    const forgeries = [
      `${header}.${altered}.${signature}`,
      `${header}.${payload}.${signature.slice(0, -4)}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${none}.${altered}.`,
      `${none}.${altered}.${signature}`,
      'x',
    ]
    for (const forgery of forgeries) expect(await joinAs('edge-1', forgery), forgery).toBe('token-invalid')
  })

  it('expired, revoked or over-used: refused, each with its own code', async () => {
    const brief = await world.cluster.mint({ lifeMs: 60_000 })
    await world.clock.advance(10 * 60_000)
    expect(await joinAs('edge-1', brief)).toBe('token-expired')
    const revoked = await world.cluster.mint()
    world.cluster.revokedTokens.add('token-2')
    expect(await joinAs('edge-1', revoked)).toBe('token-revoked')
    const once = await world.cluster.mint({ uses: 1 })
    expect(await joinAs('edge-1', once)).toBe('ok')
    expect(await joinAs('edge-2', once)).toBe('token-used-up')
  })

  it('with a use left loses none to a join that is refused', async () => {
    world.cluster.nodeNames.add('control-plane-1')
    const once = await world.cluster.mint({ uses: 1 })
    expect(await joinAs('control-plane-1', once)).toBe('node-exists')
    expect(await joinAs('edge-1', once)).toBe('ok')
  })

  it('that is absent, or of another scheme: refused', async () => {
    const { pem } = await signingRequest('edge-1')
    expect(codeOf(await join(world, undefined, pem))).toBe('token-missing')
    const basic = { method: 'POST', path: '/edge.crt', headers: { authorization: 'Basic eDp5' }, body: pem }
    expect(codeOf(await ask(world, basic))).toBe('token-invalid')
  })
})

describe('a signing request', () => {
  it('with a bad self-signature: refused', async () => {
    const { pem } = await signingRequest('edge-1')
    const [block] = readPem(pem, 'the request')
    const der = Buffer.from(block?.der ?? [])
    // The name is covered by the signature: the same length, another node.
    der.write('edge-2', der.indexOf('edge-1'))
    const forged = writePem('CERTIFICATE REQUEST', der)
    expect(codeOf(await join(world, await world.cluster.mint(), forged))).toBe('bad-proof')
  })

  it('of 2 MB: refused over both versions of HTTP, declared or not', async () => {
    const authorization = `Bearer ${await world.cluster.mint()}`
    const body = Buffer.alloc(2 * 1024 * 1024, 'A')
    for (const http2 of [false, true]) {
      const base = { method: 'POST', path: '/edge.crt', body, http2 }
      const declared = { authorization, 'content-length': String(body.length) }
      expect(codeOf(await ask(world, { ...base, headers: declared }))).toBe('body-too-large')
      const undeclared = http2 ? { authorization } : { authorization, 'transfer-encoding': 'chunked' }
      expect(codeOf(await ask(world, { ...base, headers: undeclared }))).toBe('body-too-large')
    }
  })

  it('with a key of a kind that we do not accept: refused', async () => {
    const jwt = await world.cluster.mint()
    expect(codeOf(await join(world, jwt, koblitzRequest))).toBe('key-unsuitable')
  })

  it('that is none: refused, with a hint for those who use curl', async () => {
    const response = await join(world, await world.cluster.mint(), 'hello')
    expect(codeOf(response)).toBe('bad-request')
    expect(response.body).toContain('--data-binary')
  })
})

describe('a certificate', () => {
  it('of a foreign CA with the right CN, expired or not: refused as foreign', async () => {
    const foreign = await makeCa(world.clock)
    await joined(world, 'edge-1')
    const { pem } = await signingRequest('edge-1')
    const expired = { notBeforeMs: world.clock.nowMs() - 7_200_000, notAfterMs: world.clock.nowMs() - 3_600_000 }
    for (const life of [{}, expired]) {
      const credential = await credentialFor(foreign, { clock: world.clock, ...life })
      const response = await ask(world, { method: 'POST', path: '/edge.crt', body: pem, credential })
      expect(codeOf(response)).toBe('certificate-invalid')
      expect(codeOf(await ask(world, { path: '/v1/node', credential }))).toBe('certificate-invalid')
    }
  })

  it('of ours for serverAuth, expired or not: grants nothing', async () => {
    const { pem } = await signingRequest('edge-1')
    const expired = { notBeforeMs: world.clock.nowMs() - 7_200_000, notAfterMs: world.clock.nowMs() - 3_600_000 }
    for (const life of [{}, expired]) {
      const template = { clock: world.clock, extendedKeyUsages: ['serverAuth'], ...life } as const
      const credential = await credentialFor(world.cluster.ca, template)
      const response = await ask(world, { method: 'POST', path: '/edge.crt', body: pem, credential })
      expect(codeOf(response)).toBe('certificate-invalid')
    }
    expect(world.cluster.claims.known('edge-1')).toBeUndefined()
  })

  it('of ours for a subject that is not exactly that of a node: refused', async () => {
    const subjects = [
      userName('kubernetes-admin', ['system:masters']),
      userName('system:node:edge-1', ['system:nodes', 'system:masters']),
      userName('system:node:edge-1'),
    ]
    for (const subject of subjects) {
      const credential = await credentialFor(world.cluster.ca, { clock: world.clock, subject })
      const response = await ask(world, { path: '/v1/node', credential })
      expect(codeOf(response), formatName(subject)).toBe('certificate-invalid')
    }
  })

  it('that has expired renews within the grace only, and is good for nothing else', async () => {
    const credential = await joined(world, 'edge-1')
    const { pem } = await signingRequest('edge-1')
    const renew = { method: 'POST', path: '/edge.crt', body: pem, credential }
    await world.clock.advance(NODE_CERTIFICATE_LIFE_MS + 24 * 60 * 60 * 1000)
    expect(codeOf(await ask(world, { path: '/v1/node', credential }))).toBe('certificate-expired')
    expect(codeOf(await ask(world, renew))).toBe('ok')
    await world.clock.advance(40 * 24 * 60 * 60 * 1000)
    expect(codeOf(await ask(world, renew))).toBe('certificate-expired')
  })

  it('that is not there is asked for', async () => {
    expect(codeOf(await ask(world, { path: '/v1/node' }))).toBe('certificate-missing')
  })
})

describe('a race for one name', () => {
  it('has one winner, however many keys take part', async () => {
    const jwt = await world.cluster.mint()
    const codes = await Promise.all(Array.from({ length: 8 }, () => joinAs('edge-1', jwt)))
    expect(codes.toSorted()).toEqual([...Array.from({ length: 7 }, () => 'name-taken'), 'ok'])
  })
})

describe('failures without end', () => {
  it('are answered with 429 for tokens, and leave nodes with certificates alone', async () => {
    world = await startHub({ failures: { burst: 3, perSecond: 1 } })
    const credential = await joined(world, 'edge-1')
    for (const expected of ['token-invalid', 'token-invalid', 'token-invalid', 'too-many-failures'])
      expect(await joinAs('edge-2', 'x')).toBe(expected)
    const throttled = await join(world, await world.cluster.mint(), (await signingRequest('edge-2')).pem)
    expect(throttled).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
    const { pem } = await signingRequest('edge-1')
    expect(codeOf(await ask(world, { method: 'POST', path: '/edge.crt', body: pem, credential }))).toBe('ok')
    await world.clock.advance(1000)
    expect(await joinAs('edge-2')).toBe('ok')
    const denials = world.log.filter((line) => line['component'] === 'audit' && line['result'] === 'token-invalid')
    expect(denials).toHaveLength(3)
  })
})

it('a clock of the hub that stands before a certificate says so', async () => {
  const ahead = new ManualClock(world.clock.nowMs() + 3_600_000)
  const credential = await credentialFor(world.cluster.ca, { clock: ahead, ...validityFromNow(ahead, 60_000) })
  const response = await ask(world, { path: '/v1/node', credential })
  expect(codeOf(response)).toBe('certificate-invalid')
  expect(response.body).toContain('clock')
})

/** By OpenSSL, for system:node:edge-1, with a key on the curve secp256k1. */
const koblitzRequest = `-----BEGIN CERTIFICATE REQUEST-----
MIHsMIGTAgEAMDQxFTATBgNVBAoMDHN5c3RlbTpub2RlczEbMBkGA1UEAwwSc3lz
dGVtOm5vZGU6ZWRnZS0xMFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEP4c1PEji70TY
Uieh/Ujf6cXuYo5a0AVLHAKROpCu7NY5+qgSH8ADOSWc9kpKTJscmmlPbYF031It
dAJgNSA8HKAAMAoGCCqGSM49BAMCA0gAMEUCIFiBE7/TDfYId/GvQCnC1M6XD1uC
uXkGnxP+Q5t9YzndAiEA9ggSfQ5FbJl3MeMmn53tSHHvvsy3nHKSSxWJLSXu6Bw=
-----END CERTIFICATE REQUEST-----
`
