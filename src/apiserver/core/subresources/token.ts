/** `serviceaccounts/NAME/token` over HTTP. */

import { encodeBody } from '../../../kube/codec/encode-body.ts'
import { negotiateOutput } from '../../../kube/negotiation.ts'
import { BUILT_IN_OBJECT } from '../../../kube/negotiation-offers.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { responseContentType } from '../../../kube/representation.ts'
import type { ResourceRequest } from '../../../kube/request-info.ts'
import { respond } from '../../answers/respond.ts'
import { answerTokenRequest, type TokenRequestParts } from '../../auth/tokens/token-request.ts'
import { inOrder, readQuestion } from '../../objects/decode-body.ts'
import { builtIn } from '../../objects/resource.ts'
import { readDryRun } from '../../objects/write-options.ts'
import type { RequestContext } from '../../request/handler.ts'
import type { Admission, AdmissionRequest } from '../admission.ts'
import { kindOf } from './places.ts'

const tokenRequestKind = kindOf('authentication.k8s.io/v1', 'TokenRequest')
const serviceAccounts = builtIn('v1', 'serviceaccounts')

export interface TokenSubresourceParts extends Omit<TokenRequestParts, 'validate'> {
  readonly admission: Admission
}

export class TokenSubresource {
  readonly #parts: TokenSubresourceParts

  constructor(parts: TokenSubresourceParts) {
    this.#parts = parts
  }

  /** False when the request is for something else, or for a verb that this subresource does not have. */
  async handle(context: RequestContext, info: ResourceRequest): Promise<boolean> {
    const { apiGroup, resource, subresource, verb, namespace, name } = info
    if (apiGroup !== '' || resource !== 'serviceaccounts' || subresource !== 'token' || verb !== 'create') return false
    const { headers } = context.exchange
    const { representation, pretty } = negotiateOutput(
      {
        accept: headers.get('accept'),
        userAgent: headers.get('user-agent'),
        pretty: context.query.first('pretty'),
        stream: false,
      },
      BUILT_IN_OBJECT,
    )
    const request = await readQuestion(context, tokenRequestKind)
    const { admission, issuer, find, clock } = this.#parts
    const admissionRequest = (object: KubeObject): AdmissionRequest => admissionRequestOf(context, info, object)
    await admission.admit(admissionRequest(request))
    const validate = (completed: KubeObject): Promise<void> => admission.validate(admissionRequest(completed))
    const answer = await answerTokenRequest(request, { namespace, name }, { issuer, find, clock, validate })
    const body = encodeBody(inOrder(answer, tokenRequestKind), representation.encoding, pretty)
    await respond(context, 201, { 'content-type': responseContentType(representation, { stream: false }) }, body)
    return true
  }
}

function admissionRequestOf(
  { user, query, warnings }: RequestContext,
  { namespace, name, subresource }: ResourceRequest,
  object: KubeObject,
): AdmissionRequest {
  const dryRun = readDryRun(query.all('dryRun'))
  return {
    operation: 'CREATE',
    resource: serviceAccounts,
    subresource,
    namespace,
    name,
    user,
    dryRun,
    object,
    old: undefined,
    warn: (text) => warnings.add(text),
  }
}
