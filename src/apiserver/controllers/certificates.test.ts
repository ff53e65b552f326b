import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually, type ObjectServer, rest, startObjectServer } from '../../../test/worlds/object-server.ts'
import type { RequestedNames } from '../../identity/alternative-names.ts'
import { type Certificate, readCertificates } from '../../identity/certificate.ts'
import { createRequest } from '../../identity/csr.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { type CertificateAuthority, issueSelfSignedCa, validityFromNow } from '../../identity/issue.ts'
import { generateKeys } from '../../identity/keys.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { type Fields, struct, structs, text } from '../kinds/fields.ts'
import type { Attributes, Authorizer } from '../request/authorizer.ts'
import { ALLOWED, NO_OPINION, NO_RULES } from '../request/authorizer.ts'
import { APPROVAL_RECHECK_MS, certificateApprovalController } from './certificate-approval.ts'
import { certificateCleanupController, DONE_LIFE_MS, WAITING_LIFE_MS } from './certificate-cleanup.ts'
import { CERTIFICATE_REQUESTS, withCondition } from './certificate-request-state.ts'
import { CLIENT_SIGNER, KUBELET_CLIENT_SIGNER, KUBELET_SERVING_SIGNER } from './certificate-rules.ts'
import { certificateSigningController } from './certificates.ts'
import { type Controller, type RunningController, runController } from './controller.ts'

const dayMs = 24 * 60 * 60 * 1000
const { privateKey } = await generateKeys()

let server: ObjectServer
let ca: CertificateAuthority
const running: RunningController[] = []

beforeEach(async () => {
  server = await startObjectServer()
  ca = await issueSelfSignedCa({ subject: userName('ca'), ...validityFromNow(server.clock, 400 * dayMs) }, privateKey)
})
afterEach(async () => {
  for (const controller of running.splice(0)) await controller.stop()
  await server.stop()
  expect(server.clock.pending).toBe(0)
})

const run = (controller: Controller): void => {
  running.push(runController(controller, server))
}

interface Wish {
  readonly signer: string
  readonly usages: readonly string[]
  readonly name?: string
  readonly groups?: readonly string[]
  readonly names?: RequestedNames
  readonly expirationSeconds?: number
}

const serving: Wish = {
  signer: KUBELET_SERVING_SIGNER,
  usages: ['digital signature', 'server auth'],
  names: { dnsNames: ['edge-1'], ipAddresses: ['192.0.2.1'] },
}
const kubeletClient: Wish = { signer: KUBELET_CLIENT_SIGNER, usages: ['digital signature', 'client auth'] }

async function ask(wish: Wish, requester = 'somebody'): Promise<void> {
  const { signer, usages, name = 'system:node:edge-1', groups = ['system:nodes'], names, expirationSeconds } = wish
  const subject = userName(name, groups)
  const pem = await createRequest({ subject, ...(names === undefined ? {} : { names }) }, privateKey)
  const spec = {
    request: Buffer.from(pem).toString('base64'),
    signerName: signer,
    usages: [...usages],
    ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
  }
  const typed = { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest' }
  await server.create(CERTIFICATE_REQUESTS, { ...typed, metadata: { name: 'csr' }, spec }, { userName: requester })
}

const find = (): KubeObject | undefined => server.get(CERTIFICATE_REQUESTS, '', 'csr')
const condition = (type: string): Fields | undefined =>
  structs(struct(find(), 'status'), 'conditions').find((each) => text(each, 'type') === type)

function decide(type: 'Approved' | 'Denied'): Promise<void> {
  const place = { resource: CERTIFICATE_REQUESTS, namespace: '', name: 'csr' }
  const verdict = { type, status: 'True', reason: 'Test', message: '' }
  return server.client.update(place, new AbortController().signal, (old) => withCondition(old, verdict), 'approval')
}

async function signed(wish: Wish): Promise<Certificate> {
  run(certificateSigningController(server.client, ca))
  await ask(wish)
  await decide('Approved')
  await eventually(() => text(struct(find(), 'status'), 'certificate') !== '')
  return readCertificates(Buffer.from(text(struct(find(), 'status'), 'certificate'), 'base64'), 'the certificate')[0]
}

describe('signing', () => {
  it('gives an approved kubelet its serving certificate', async () => {
    const certificate = await signed(serving)
    expect(certificate).toMatchObject({
      names: { dnsNames: ['edge-1'], ipAddresses: ['192.0.2.1'] },
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: ['serverAuth'],
      isCa: false,
    })
    expect(certificate.subject).toEqual(userName('system:node:edge-1', ['system:nodes']))
    expect(certificate.x509.checkIssued(ca.certificate.x509)).toBe(true)
  })

  it('dates the certificate as asked for, a little back, and never beyond the CA', async () => {
    const nowMs = server.clock.nowMs()
    const certificate = await signed({ ...serving, expirationSeconds: 3600 })
    expect([certificate.notBeforeMs - nowMs, certificate.notAfterMs - nowMs]).toEqual([-300_000, 3_600_000])
  })

  it('gives a year less the predating to those who ask for none, or for more', async () => {
    const nowMs = server.clock.nowMs()
    const certificate = await signed({ ...serving, expirationSeconds: 1e9 })
    expect(certificate.notAfterMs - nowMs).toBe(365 * dayMs - 300_000)
  })

  it('ends with the CA', async () => {
    server.clock.jumpTo(server.clock.nowMs() + 399 * dayMs)
    expect((await signed(serving)).notAfterMs).toBe(ca.certificate.notAfterMs)
  })

  it('signs any client for the client signer', async () => {
    const wish = { signer: CLIENT_SIGNER, usages: ['client auth'], name: 'jane', groups: ['developers'] }
    expect((await signed(wish)).subject).toEqual(userName('jane', ['developers']))
  })

  it.each<[string, Wish, string]>([
    ['another organization', { ...serving, groups: ['others'] }, 'subject organization is not system:nodes'],
    ['no names', { ...serving, names: {} }, 'DNS or IP subjectAltName is required'],
    [
      'a mail address',
      { ...serving, names: { ...serving.names, emailAddresses: ['a@b.c'] } },
      'Email subjectAltNames are not allowed',
    ],
    [
      'a URI',
      { ...serving, names: { ...serving.names, uris: ['spiffe://a/b'] } },
      'URI subjectAltNames are not allowed',
    ],
    [
      'usages of a client',
      { ...serving, usages: ['digital signature', 'client auth'] },
      'usages did not match [digital signature key encipherment server auth]',
    ],
    ['a name of no node', { ...serving, name: 'edge-1' }, 'subject common name does not begin with system:node:'],
    ['names for a client', { ...kubeletClient, names: { dnsNames: ['a'] } }, 'DNS subjectAltNames are not allowed'],
    [
      'usages of a server',
      { ...kubeletClient, usages: ['digital signature', 'server auth'] },
      'usages did not match [client auth digital signature key encipherment]',
    ],
    [
      'usages that clients have not',
      { signer: CLIENT_SIGNER, usages: ['client auth', 'server auth'] },
      'invalid usage for client certificate: server auth',
    ],
    [
      'no usage of clients',
      { signer: CLIENT_SIGNER, usages: ['digital signature'] },
      'missing required usage for client certificate: client auth',
    ],
  ])('refuses %s for good', async (_what, wish, message) => {
    run(certificateSigningController(server.client, ca))
    await ask(wish)
    await decide('Approved')
    await eventually(() => condition('Failed') !== undefined)
    expect(condition('Failed')).toMatchObject({ status: 'True', reason: 'SignerValidationFailure', message })
    expect(text(struct(find(), 'status'), 'certificate')).toBe('')
  })

  it('leaves alone what is not approved, denied, or for another signer', async () => {
    run(certificateSigningController(server.client, ca))
    await ask(serving)
    await rest()
    expect(text(struct(find(), 'status'), 'certificate')).toBe('')
    await decide('Denied')
    await rest()
    expect(text(struct(find(), 'status'), 'certificate')).toBe('')
    await server.delete(CERTIFICATE_REQUESTS, '', 'csr')
    await ask({ ...serving, signer: 'example.com/mine' })
    await decide('Approved')
    await rest()
    expect(structs(struct(find(), 'status'), 'conditions')).toHaveLength(1)
    expect(text(struct(find(), 'status'), 'certificate')).toBe('')
  })
})

describe('approval', () => {
  function policy(allowed: readonly string[], asked: Attributes[] = []): Authorizer {
    return {
      authorize(attributes) {
        asked.push(attributes)
        const subresource = attributes.kind === 'resource' ? attributes.subresource : ''
        return allowed.includes(subresource) ? ALLOWED : NO_OPINION
      },
      rulesFor: () => NO_RULES,
    }
  }

  it('is given to a kubelet whose requester may have node certificates', async () => {
    const asked: Attributes[] = []
    run(certificateApprovalController(server.client, policy(['nodeclient'], asked)))
    await ask(kubeletClient)
    await eventually(() => condition('Approved') !== undefined)
    expect(condition('Approved')).toMatchObject({
      reason: 'AutoApproved',
      message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
    })
    expect(asked).toMatchObject([
      { verb: 'create', resource: 'certificatesigningrequests', subresource: 'nodeclient', user: { name: 'somebody' } },
    ])
  })

  it('of a renewal needs the narrower permission only, and only the node itself can renew', async () => {
    run(certificateApprovalController(server.client, policy(['selfnodeclient'])))
    await ask(kubeletClient)
    await rest()
    expect(condition('Approved')).toBeUndefined()
    await server.delete(CERTIFICATE_REQUESTS, '', 'csr')
    await ask(kubeletClient, 'system:node:edge-1')
    await eventually(() => condition('Approved') !== undefined)
    expect(text(condition('Approved'), 'message')).toMatch(/^Auto approving self kubelet client certificate/)
  })

  it('comes later when policy comes to allow it', async () => {
    const allowed: string[] = []
    const asked: Attributes[] = []
    run(certificateApprovalController(server.client, policy(allowed, asked)))
    await ask(kubeletClient)
    // Policy is asked when a thread has checked the signature; only then is there a time to come back at.
    await eventually(() => asked.length > 0)
    await rest()
    expect(condition('Approved')).toBeUndefined()
    allowed.push('nodeclient')
    await server.clock.advance(APPROVAL_RECHECK_MS)
    await eventually(() => condition('Approved') !== undefined)
  })

  it('is never given by itself to serving certificates', async () => {
    run(certificateApprovalController(server.client, policy(['nodeclient', 'selfnodeclient'])))
    await ask(serving)
    await rest()
    expect(condition('Approved')).toBeUndefined()
  })
})

describe('cleanup', () => {
  beforeEach(() => run(certificateCleanupController(server.client)))

  it('takes requests that nobody decided after a day', async () => {
    await ask(serving)
    await server.clock.advance(WAITING_LIFE_MS)
    expect(find()).toBeDefined()
    await server.clock.advance(1_000)
    await eventually(() => find() === undefined)
  })

  it('takes denied ones after an hour', async () => {
    await ask(serving)
    await decide('Denied')
    await server.clock.advance(DONE_LIFE_MS)
    expect(find()).toBeDefined()
    await server.clock.advance(1_000)
    await eventually(() => find() === undefined)
  })

  it('takes approved ones an hour after, if issued, and else after a day', async () => {
    await ask({ ...serving, signer: 'example.com/mine' })
    await decide('Approved')
    await server.clock.advance(DONE_LIFE_MS + 1_000)
    expect(find()).toBeDefined()
    await server.clock.advance(WAITING_LIFE_MS)
    await eventually(() => find() === undefined)
    await signed(serving)
    await server.clock.advance(DONE_LIFE_MS + 1_000)
    await eventually(() => find() === undefined)
  })
})
