/** Signs approved CertificateSigningRequests for the built-in signers. */
import { type Certificate, certificatePem } from '../../identity/certificate.ts'
import { type CertificateRequest, readRequest } from '../../identity/csr.ts'
import { IdentityError } from '../../identity/errors.ts'
import { type CertificateAuthority, CLOCK_SKEW_MS, issueCertificate } from '../../identity/issue.ts'
import type { ExtendedKeyUsage, KeyUsage } from '../../identity/usages.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { type Fields, integer, struct, text, texts } from '../kinds/fields.ts'
import {
  CERTIFICATE_REQUESTS,
  isApproved,
  isIssued,
  requestPem,
  trueCondition,
  withCondition,
} from './certificate-request-state.ts'
import { SIGNER_RULES } from './certificate-rules.ts'
import { type Controller, nameOfItem } from './controller.ts'
import type { InternalClient } from './internal-client.ts'

const hourMs = 60 * 60 * 1000
/** The longest life a certificate gets, and the one of those who ask for none. */
const MAX_CERTIFICATE_LIFE_MS = 365 * 24 * hourMs
/** The shortest life that kube-controller-manager signs. */
const MIN_CERTIFICATE_LIFE_MS = 10 * 60 * 1000
/** A certificate of at least this life counts its life from its predated beginning; a shorter one from now. */
const longLifeMs = 8 * hourMs

const keyUsages: Readonly<Record<string, KeyUsage>> = {
  'digital signature': 'digitalSignature',
  'key encipherment': 'keyEncipherment',
}
const extendedKeyUsages: Readonly<Record<string, ExtendedKeyUsage>> = {
  'client auth': 'clientAuth',
  'server auth': 'serverAuth',
}

export function certificateSigningController(client: InternalClient, authority: CertificateAuthority): Controller {
  return {
    name: 'certificate-signing',
    sources: [{ resource: CERTIFICATE_REQUESTS, keysOf: (item) => [nameOfItem(item)] }],
    async reconcile(name, signal) {
      const place = { resource: CERTIFICATE_REQUESTS, namespace: '', name }
      const request = client.get(place)
      if (request === undefined || !isToBeSigned(request)) return undefined
      const outcome = await decide(request, authority, client)
      // Whoever signed in the meantime was as good as we are.
      await client.update(place, signal, (present) => (isToBeSigned(present) ? outcome(present) : undefined), 'status')
      return undefined
    },
  }
}

function isToBeSigned(request: KubeObject): boolean {
  const isKnownSigner = SIGNER_RULES[text(struct(request, 'spec'), 'signerName')] !== undefined
  return isKnownSigner && isApproved(request) && !isIssued(request) && trueCondition(request, 'Failed') === undefined
}

type Outcome = (request: KubeObject) => KubeObject

async function decide(request: KubeObject, authority: CertificateAuthority, client: InternalClient): Promise<Outcome> {
  const spec = struct(request, 'spec') ?? {}
  const wish = await readWish(request)
  if (typeof wish === 'string') return failed(wish, client.timestamp())
  const breach = SIGNER_RULES[text(spec, 'signerName')]?.(wish, texts(spec, 'usages'))
  if (breach !== undefined) return failed(breach, client.timestamp())
  const certificate = await sign(wish, spec, authority, client.nowMs)
  const encoded = Buffer.from(certificatePem(certificate)).toString('base64')
  return (present) => ({ ...present, status: { ...struct(present, 'status'), certificate: encoded } })
}

/** The request inside, or what is wrong with it: trying again would not make it better. */
async function readWish(request: KubeObject): Promise<CertificateRequest | string> {
  try {
    return await readRequest(requestPem(request), 'spec.request')
  } catch (error) {
    if (error instanceof IdentityError) return error.message
    throw error
  }
}

function failed(message: string, now: string): Outcome {
  const condition = { type: 'Failed', status: 'True', reason: 'SignerValidationFailure', message, lastUpdateTime: now }
  return (request) => withCondition(request, condition)
}

async function sign(
  { subject, names, publicKey }: CertificateRequest,
  spec: Fields,
  authority: CertificateAuthority,
  nowMs: number,
): Promise<Certificate> {
  const { otherKinds: _kinds, ...wanted } = names
  const usages = texts(spec, 'usages')
  const lifeMs = lifeOf(integer(spec, 'expirationSeconds'))
  const template = {
    subject,
    names: wanted,
    keyUsages: usages.flatMap((usage) => keyUsages[usage] ?? []),
    extendedKeyUsages: usages.flatMap((usage) => extendedKeyUsages[usage] ?? []),
    notBeforeMs: nowMs - CLOCK_SKEW_MS,
    notAfterMs: nowMs + (lifeMs < longLifeMs ? lifeMs : lifeMs - CLOCK_SKEW_MS),
  }
  return await issueCertificate(authority, template, publicKey, { ifOutlivesCa: 'cap' })
}

function lifeOf(seconds: number | undefined): number {
  if (seconds === undefined) return MAX_CERTIFICATE_LIFE_MS
  return Math.min(MAX_CERTIFICATE_LIFE_MS, Math.max(MIN_CERTIFICATE_LIFE_MS, seconds * 1000))
}
