/** The objects that carry a node's own name (Node, Lease, CSINode), and lists narrowed to one node. */
import { parseFieldSelector } from '../../../kube/selectors/field.ts'
import { ApiError } from '../../../kube/status/status.ts'
import { ALLOWED, type Decision, NO_OPINION, noOpinion, type ResourceAttributes } from '../../request/authorizer.ts'

const NODE_LEASE_NAMESPACE = 'kube-node-lease'

/** The field by which pods and resource slices alike name their node. */
const NODE_NAME_FIELD = 'spec.nodeName'
const singleObjectVerbs: readonly string[] = ['get', 'create', 'update', 'patch', 'delete']

/** The name is not known when an object is created: that check is admission's. */
export function authorizeLease(node: string, { verb, namespace, name }: ResourceAttributes): Decision {
  if (!singleObjectVerbs.includes(verb)) {
    return noOpinion('can only get, create, update, patch, or delete a node lease')
  }
  if (namespace !== NODE_LEASE_NAMESPACE) {
    return noOpinion(`can only access leases in the "${NODE_LEASE_NAMESPACE}" system namespace`)
  }
  if (verb !== 'create' && name !== node) {
    return noOpinion('can only access node lease with the same name as the requesting node')
  }
  return ALLOWED
}

export function authorizeCsiNode(node: string, { verb, subresource, name }: ResourceAttributes): Decision {
  if (!singleObjectVerbs.includes(verb)) {
    return noOpinion('can only get, create, update, patch, or delete a CSINode')
  }
  if (subresource !== '') return noOpinion('cannot authorize CSINode subresources')
  if (verb !== 'create' && name !== node) {
    return noOpinion('can only access CSINode with the same name as the requesting node')
  }
  return ALLOWED
}

/** Reads are compared by name and not looked up, so that a kubelet can ask for its Node before it exists. */
export function authorizeNodeObject(node: string, { verb, subresource, name }: ResourceAttributes): Decision {
  switch (subresource === '' ? verb : `${verb} ${subresource}`) {
    case 'create':
    case 'update':
    case 'patch':
    case 'update status':
    case 'patch status':
      return ALLOWED
    case 'get':
    case 'list':
    case 'watch':
      if (name === node) return ALLOWED
      if (name === '') return noOpinion(`node '${node}' cannot read all nodes, only its own Node object`)
      return noOpinion(`node '${node}' cannot read '${name}', only its own Node object`)
    default:
      return NO_OPINION
  }
}

/** Whether the request asks for nothing but objects of this node. */
export function selectsNode({ fieldSelector }: ResourceAttributes, node: string): boolean {
  const selector = parsed(fieldSelector)
  if (selector?.matches !== 'terms') return false
  return selector.terms.some(
    ({ field, operator, value }) => field === NODE_NAME_FIELD && operator === '=' && value === node,
  )
}

/** A selector that cannot be read narrows nothing; the request fails on it elsewhere. */
function parsed(text: string): ReturnType<typeof parseFieldSelector> | undefined {
  try {
    return parseFieldSelector(text)
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}
