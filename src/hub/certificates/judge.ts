/**
 * What to do with a CertificateSigningRequest of the cluster. Who created it is told by the API server and cannot be forged;
 * everything else on it can.
 *
 *   no mark of ours, or for a signer that is none of our two -> leave alone, however similar
 *   marked, by somebody else   -> deny
 *   marked, by a hub, as this hub would have made it -> approve
 *   marked, by a hub, otherwise -> leave alone: a hub with other settings made it and will approve it
 */
import { readRequest } from '../../identity/csr.ts'
import { IdentityError } from '../../identity/errors.ts'
import type { CertificateSigningRequest } from '../../kube/client/types.ts'
import type { CertificatePurpose } from '../../protocol/requests.ts'
import {
  CSR_LABEL,
  CSR_NAME_PREFIX,
  CSR_NODE_ANNOTATION,
  csrObject,
  outcomeOf,
  purposeOf,
  wearsOurMarks,
} from './csr-object.ts'
import { type CertificateContent, differenceOf } from './template.ts'

export type Judgement =
  | { readonly do: 'leave'; readonly why: string }
  | { readonly do: 'approve'; readonly node: string; readonly purpose: CertificatePurpose }
  | { readonly do: 'deny'; readonly reason: string; readonly message: string }

export interface JudgeOptions {
  /** The user as whom the hubs of this cluster work. */
  readonly ownUser: string
  contentFor(node: string, purpose: CertificatePurpose): Promise<CertificateContent>
}

export async function judge(csr: CertificateSigningRequest, options: JudgeOptions): Promise<Judgement> {
  if (!wearsOurMarks(csr)) return { do: 'leave', why: 'not ours' }
  if (outcomeOf(csr).state !== 'pending') return { do: 'leave', why: 'decided' }
  if (csr.spec.username !== options.ownUser)
    return {
      do: 'deny',
      reason: 'CausewayImitation',
      message:
        `names that start with ${CSR_NAME_PREFIX} and the label ${CSR_LABEL} are reserved for Causeway's hub; ` +
        `this request was created by ${csr.spec.username || 'an unknown user'}`,
    }
  const purpose = purposeOf(csr)
  const node = csr.metadata?.annotations?.[CSR_NODE_ANNOTATION]
  if (purpose === undefined || node === undefined) return { do: 'leave', why: 'does not say for which node it is' }
  const why = await strangeness(csr, await options.contentFor(node, purpose))
  return why === undefined ? { do: 'approve', node, purpose } : { do: 'leave', why }
}

/** In what the object differs from the one this hub would have made for that key; `undefined` if in nothing. */
async function strangeness(csr: CertificateSigningRequest, content: CertificateContent): Promise<string | undefined> {
  try {
    const request = await readRequest(Buffer.from(csr.spec.request, 'base64'))
    const difference = differenceOf(request, content)
    if (difference !== undefined) return difference
    const { metadata, spec } = csrObject(content, request)
    if (csr.metadata?.name !== metadata?.name) return 'has another name than its content calls for'
    if (csr.spec.signerName !== spec.signerName) return `asks the signer ${csr.spec.signerName}`
    if (csr.spec.expirationSeconds !== spec.expirationSeconds) return 'asks for another life'
    if (csr.spec.usages?.toSorted().join() !== spec.usages?.toSorted().join()) return 'asks for other usages'
    return undefined
  } catch (error) {
    if (error instanceof IdentityError) return error.message
    throw error
  }
}
