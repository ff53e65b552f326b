import { describe, expect, it, vi } from 'vitest'
import {
  ask,
  codeOf,
  eventually,
  type HubWorld,
  join,
  joined,
  signingRequest,
  startHub,
} from '../../../test/worlds/hub-world.ts'
import { certificatePem, readCertificates } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { CLOCK_SKEW_MS } from '../../identity/issue.ts'
import { keyFingerprint, keyMatchesCertificate, privateKeyPem } from '../../identity/keys.ts'
import { readPem } from '../../identity/pem.ts'
import { verifyCertificate } from '../../identity/verify.ts'
import { WorkGate } from '../port/overload.ts'
import { Refusal } from '../refusal.ts'
import { NODE_CERTIFICATE_LIFE_MS } from './issue-node-certificate.ts'

function auditLines(world: HubWorld): Record<string, unknown>[] {
  return world.log.filter(({ component }) => component === 'audit')
}

describe.each([
  ['HTTP/1.1', false],
  ['HTTP/2', true],
] as const)('a join over %s', (_version, http2) => {
  it('yields a certificate for the key, the claim on the name, and a line in the audit log', async () => {
    const world = await startHub()
    const { pem, keys } = await signingRequest('edge-1')
    const jwt = await world.cluster.mint()
    const headers = { authorization: `Bearer ${jwt}` }
    const response = await ask(world, { method: 'POST', path: '/edge.crt', headers, body: pem, http2 })
    expect(response).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/x-pem-file', 'causeway-node': 'edge-1' },
    })
    const [certificate, ...others] = readCertificates(response.body, 'the answer')
    const atMs = world.clock.nowMs()
    expect(others).toEqual([])
    expect(formatName(certificate.subject)).toBe('O=system:nodes, CN=system:node:edge-1')
    expect(keyMatchesCertificate(keys.privateKey, certificate)).toBe(true)
    expect(
      verifyCertificate(certificate, { trust: [world.cluster.ca.certificate], usage: 'clientAuth', atMs }),
    ).toMatchObject({ ok: true })
    expect(certificate.notAfterMs).toBe(Math.floor((atMs + NODE_CERTIFICATE_LIFE_MS) / 1000) * 1000)
    expect(certificate.notBeforeMs).toBeLessThanOrEqual(atMs - CLOCK_SKEW_MS)
    const key = keyFingerprint(keys.publicKey)
    expect(world.cluster.claims.known('edge-1')).toMatchObject({ state: 'held', current: key, tokenId: 'token-1' })
    expect(world.cluster.claims.known('edge-1')).toMatchObject({ certificateEndsMs: certificate.notAfterMs })
    expect(auditLines(world)).toEqual([
      expect.objectContaining({
        event: 'join',
        result: 'ok',
        node: 'edge-1',
        tokenId: 'token-1',
        key,
        serial: certificate.serialNumber,
        source: '127.0.0.1',
      }),
    ])
    expect(JSON.stringify(world.log)).not.toContain(jwt)
  })
})

describe('a join', () => {
  it('may be repeated with the same key, since an answer can be lost', async () => {
    const world = await startHub()
    const { pem } = await signingRequest('edge-1')
    const jwt = await world.cluster.mint({ uses: 1 })
    const answers = [await join(world, jwt, pem), await join(world, jwt, pem)]
    expect(answers.map(codeOf)).toEqual(['ok', 'ok'])
    const serials = answers.map(({ body }) => readCertificates(body, 'the answer')[0].serialNumber)
    expect(new Set(serials).size).toBe(2)
  })

  it('takes DER where the client says so', async () => {
    const world = await startHub()
    const { pem } = await signingRequest('edge-1')
    const [block] = readPem(pem, 'the request')
    const authorization = `Bearer ${await world.cluster.mint()}`
    const post = { method: 'POST', path: '/edge.crt', body: block?.der ?? Buffer.alloc(0) }
    const asDer = { authorization, 'content-type': 'Application/PKCS10; x=y' }
    expect(codeOf(await ask(world, { ...post, headers: asDer }))).toBe('ok')
    expect(codeOf(await ask(world, { ...post, headers: { authorization } }))).toBe('bad-request')
    const packed = { ...asDer, 'content-encoding': 'gzip' }
    expect(codeOf(await ask(world, { ...post, headers: packed }))).toBe('media-type')
  })

  it('passes on that the cluster cannot be asked, and holds it against nobody', async () => {
    const world = await startHub({ failures: { burst: 1 } })
    const jwt = await world.cluster.mint()
    const { pem } = await signingRequest('edge-1')
    world.cluster.outage = new Refusal('cluster-unavailable', 'the API server is away', { retryAfterSeconds: 5 })
    for (let attempt = 0; attempt < 2; attempt++)
      expect(codeOf(await join(world, jwt, pem))).toBe('cluster-unavailable')
    world.cluster.outage = undefined
    expect(codeOf(await join(world, jwt, pem))).toBe('ok')
  })

  it('beyond those worked on and queued is asked to come back', async () => {
    const world = await startHub({ gate: new WorkGate(1, 0) })
    let release = (): void => {}
    const held = new Promise<boolean>((resolve) => {
      release = () => resolve(false)
    })
    const exists = vi.spyOn(world.cluster.nodes, 'exists').mockReturnValue(held)
    const first = joined(world, 'edge-1')
    await eventually(() => expect(exists).toHaveBeenCalledTimes(1))
    expect(await world.registry.metrics()).toContain('causeway_hub_joins_in_flight 1')
    const second = await join(world, await world.cluster.mint(), (await signingRequest('edge-2')).pem)
    expect(second).toMatchObject({ status: 503, headers: { 'retry-after': '10' } })
    expect(codeOf(second)).toBe('overloaded')
    release()
    await first
  })

  it('is counted by its result and by what it was asked with', async () => {
    const world = await startHub()
    const credential = await joined(world, 'edge-1')
    await join(world, 'x', '')
    const { pem } = await signingRequest('edge-2')
    await ask(world, { method: 'POST', path: '/edge.crt', body: pem, credential })
    const metrics = await world.registry.metrics()
    expect(metrics).toContain('causeway_hub_joins_total{result="ok",by="token"} 1')
    expect(metrics).toContain('causeway_hub_joins_total{result="token-invalid",by="token"} 1')
    expect(metrics).toContain('causeway_hub_joins_total{result="node-mismatch",by="certificate"} 1')
    expect(metrics).toContain('causeway_hub_join_duration_seconds_count{by="token"} 2')
    expect(auditLines(world).map(({ event, result, node }) => ({ event, result, node }))).toEqual([
      { event: 'join', result: 'ok', node: 'edge-1' },
      { event: 'join', result: 'token-invalid' },
      { event: 'rotation', result: 'node-mismatch', node: 'edge-1' },
    ])
  })
})

describe('a rotation', () => {
  it('yields a certificate for the next key, which counts from its first use on', async () => {
    const world = await startHub()
    const credential = await joined(world, 'edge-1')
    const { pem, keys } = await signingRequest('edge-1')
    const response = await ask(world, { method: 'POST', path: '/edge.crt', body: pem, credential })
    const next = keyFingerprint(keys.publicKey)
    expect(world.cluster.claims.known('edge-1')).toMatchObject({ next })
    const renewed = { cert: response.body, key: privateKeyPem(keys.privateKey) }
    const checkIn = await ask(world, { path: '/v1/node', credential: renewed })
    const [certificate] = readCertificates(response.body, 'the answer')
    expect(JSON.parse(checkIn.body)).toEqual({
      node: 'edge-1',
      key: next,
      certificateEnds: new Date(certificate.notAfterMs).toISOString(),
      hubCa: certificatePem(world.cluster.ca.certificate),
      crossCertificates: '',
    })
    expect(world.cluster.claims.known('edge-1')).toMatchObject({ current: next })
    expect(world.cluster.claims.known('edge-1')).not.toHaveProperty('next')
  })

  it('may be asked for again with yet another key while the answer to the first was lost', async () => {
    const world = await startHub()
    const credential = await joined(world, 'edge-1')
    for (let attempt = 0; attempt < 2; attempt++) {
      const { pem } = await signingRequest('edge-1')
      expect(codeOf(await ask(world, { method: 'POST', path: '/edge.crt', body: pem, credential }))).toBe('ok')
    }
  })
})
