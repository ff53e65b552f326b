/** Approves the client certificates that kubelets ask for, if policy lets the one who asked have them. */
import { readRequest } from '../../identity/csr.ts'
import { commonName } from '../../identity/distinguished-name.ts'
import { IdentityError } from '../../identity/errors.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { struct, text, texts } from '../kinds/fields.ts'
import type { Authorizer } from '../request/authorizer.ts'
import type { UserInfo } from '../request/user.ts'
import { CERTIFICATE_REQUESTS, conditionsOf, isIssued, requestPem, withCondition } from './certificate-request-state.ts'
import { KUBELET_CLIENT_SIGNER, kubeletClientBreach } from './certificate-rules.ts'
import { type Controller, nameOfItem } from './controller.ts'
import type { InternalClient } from './internal-client.ts'

/** Policy may come to allow what it did not. */
export const APPROVAL_RECHECK_MS = 60_000

interface Permission {
  readonly subresource: 'selfnodeclient' | 'nodeclient'
  readonly message: string
}

const renewal: Permission = {
  subresource: 'selfnodeclient',
  message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
}
const first: Permission = {
  subresource: 'nodeclient',
  message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
}

export function certificateApprovalController(client: InternalClient, authorizer: Authorizer): Controller {
  return {
    name: 'certificate-approval',
    sources: [{ resource: CERTIFICATE_REQUESTS, keysOf: (item) => [nameOfItem(item)] }],
    async reconcile(name, signal) {
      const place = { resource: CERTIFICATE_REQUESTS, namespace: '', name }
      const request = client.get(place)
      if (request === undefined || !isPending(request)) return undefined
      const permissions = await permissionsFor(request)
      const granted = permissions.find(({ subresource }) => isAllowed(authorizer, requesterOf(request), subresource))
      if (granted === undefined) return permissions.length === 0 ? undefined : APPROVAL_RECHECK_MS
      const condition = { type: 'Approved', status: 'True', reason: 'AutoApproved', message: granted.message }
      const change = (present: KubeObject): KubeObject | undefined =>
        isPending(present) ? withCondition(present, condition) : undefined
      await client.update(place, signal, change, 'approval')
      return undefined
    },
  }
}

function isPending(request: KubeObject): boolean {
  const isDecided = conditionsOf(request).some((condition) => ['Approved', 'Denied'].includes(text(condition, 'type')))
  return !isDecided && !isIssued(request) && text(struct(request, 'spec'), 'signerName') === KUBELET_CLIENT_SIGNER
}

/** What would allow this request; nothing for one that is not a kubelet's. */
async function permissionsFor(request: KubeObject): Promise<Permission[]> {
  const spec = struct(request, 'spec')
  try {
    const wish = await readRequest(requestPem(request), 'spec.request')
    if (kubeletClientBreach(wish, texts(spec, 'usages')) !== undefined) return []
    return commonName(wish.subject) === text(spec, 'username') ? [renewal, first] : [first]
  } catch (error) {
    if (error instanceof IdentityError) return []
    throw error
  }
}

/** Recorded by the server when the request was made: nobody can claim to be somebody else. */
function requesterOf(request: KubeObject): UserInfo {
  const spec = struct(request, 'spec')
  const extra = struct(spec, 'extra') ?? {}
  return {
    name: text(spec, 'username'),
    uid: text(spec, 'uid'),
    groups: texts(spec, 'groups'),
    extra: Object.fromEntries(Object.keys(extra).map((key) => [key, texts(extra, key)])),
  }
}

function isAllowed(authorizer: Authorizer, user: UserInfo, subresource: string): boolean {
  const { group: apiGroup, row } = CERTIFICATE_REQUESTS
  const attributes = { kind: 'resource', user, verb: 'create', apiGroup, apiVersion: '*', subresource } as const
  const unnamed = { namespace: '', name: '', fieldSelector: '', labelSelector: '' }
  return authorizer.authorize({ ...attributes, ...unnamed, resource: row.resource }).verdict === 'allow'
}
