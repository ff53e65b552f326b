/**
 * What a kubelet may do: fixed rules for all nodes alike, narrowed to the node's own business where objects belong to
 * some node. Admission looks at the contents of what a node writes; here only names and selectors are known.
 */

import { goQuote } from '../../../kube/status/go-text.ts'
import {
  ALLOWED,
  type Attributes,
  type Authorizer,
  type Decision,
  NO_OPINION,
  NO_RULES,
  noOpinion,
  type PolicyRule,
  type ResourceAttributes,
  type RuleListing,
} from '../../request/authorizer.ts'
import type { UserInfo } from '../../request/user.ts'
import { NODE_RULES } from '../rbac/bootstrap-component-roles.ts'
import { ruleAllows } from '../rbac/rule-match.ts'
import type { NodeGraph } from './graph.ts'
import { nodeNameOf } from './identity.ts'
import { authorizeCsiNode, authorizeLease, authorizeNodeObject, selectsNode } from './own-objects.ts'
import type { RelatedResource } from './resources.ts'

const UNLISTABLE: RuleListing = {
  rules: [],
  incomplete: true,
  errors: ['node authorizer does not support user rule resolution'],
}

export class NodeAuthorizer implements Authorizer {
  readonly #graph: NodeGraph
  readonly #rules: readonly PolicyRule[] = NODE_RULES['system:node'] ?? []

  constructor(graph: NodeGraph) {
    this.#graph = graph
  }

  authorize(attributes: Attributes): Decision {
    const node = nodeNameOf(attributes.user)
    if (node === undefined) return NO_OPINION
    if (node === '') return noOpinion(`unknown node for user ${goQuote(attributes.user.name)}`)
    const narrowed = attributes.kind === 'resource' ? this.#narrow(node, attributes) : undefined
    if (narrowed !== undefined) return narrowed
    return this.#rules.some((rule) => ruleAllows(rule, attributes)) ? ALLOWED : NO_OPINION
  }

  rulesFor(user: UserInfo): RuleListing {
    return nodeNameOf(user) === undefined ? NO_RULES : UNLISTABLE
  }

  /** Decides about what concerns one node alone; undefined where all nodes are alike. */
  #narrow(node: string, attributes: ResourceAttributes): Decision | undefined {
    const { apiGroup, resource, subresource } = attributes
    switch (apiGroup === '' ? resource : `${resource}.${apiGroup}`) {
      case 'secrets':
      case 'configmaps':
        return this.#read(node, resource as RelatedResource, attributes)
      case 'persistentvolumeclaims':
        if (subresource === 'status') return this.#updateClaimStatus(node, attributes)
        return this.#get(node, 'persistentvolumeclaims', attributes)
      case 'persistentvolumes':
      case 'resourceclaims.resource.k8s.io':
      case 'volumeattachments.storage.k8s.io':
        return this.#get(node, resource as RelatedResource, attributes)
      case 'serviceaccounts':
        return this.#serviceAccount(node, attributes)
      case 'leases.coordination.k8s.io':
        return authorizeLease(node, attributes)
      case 'csinodes.storage.k8s.io':
        return authorizeCsiNode(node, attributes)
      case 'resourceslices.resource.k8s.io':
        return this.#resourceSlice(node, attributes)
      case 'nodes':
        return authorizeNodeObject(node, attributes)
      case 'pods':
        return this.#pod(node, attributes)
      case 'podcertificaterequests.certificates.k8s.io':
        return NO_OPINION
      default:
        return undefined
    }
  }

  #related(node: string, resource: RelatedResource, { namespace, name }: ResourceAttributes): Decision {
    if (name === '') return noOpinion('No Object name found')
    return this.#graph.isRelated(node, resource, namespace, name)
      ? ALLOWED
      : noOpinion(`no relationship found between node '${node}' and this object`)
  }

  #get(node: string, resource: RelatedResource, attributes: ResourceAttributes): Decision {
    if (attributes.verb !== 'get') return noOpinion('can only get individual resources of this type')
    if (attributes.subresource !== '') return noOpinion('cannot get subresource')
    return this.#related(node, resource, attributes)
  }

  #read(node: string, resource: RelatedResource, attributes: ResourceAttributes): Decision {
    if (!isRead(attributes.verb)) return noOpinion('can only read resources of this type')
    if (attributes.subresource !== '') return noOpinion('cannot read subresource')
    if (attributes.namespace === '') return noOpinion('can only read namespaced object of this type')
    return this.#related(node, resource, attributes)
  }

  #updateClaimStatus(node: string, attributes: ResourceAttributes): Decision {
    const { verb } = attributes
    if (verb !== 'update' && verb !== 'patch') return noOpinion('can only get/update/patch this type')
    return this.#related(node, 'persistentvolumeclaims', attributes)
  }

  #serviceAccount(node: string, attributes: ResourceAttributes): Decision {
    const { verb, subresource, name } = attributes
    if (verb === 'get' && subresource === '') return this.#read(node, 'serviceaccounts', attributes)
    if (verb !== 'create' || name === '') return noOpinion('can only create tokens for individual service accounts')
    if (subresource !== 'token') return noOpinion('can only create token subresource of serviceaccount')
    return this.#related(node, 'serviceaccounts', attributes)
  }

  #resourceSlice(node: string, attributes: ResourceAttributes): Decision {
    if (attributes.subresource !== '') return noOpinion('cannot authorize ResourceSlice subresources')
    switch (attributes.verb) {
      case 'create':
        return ALLOWED
      case 'get':
      case 'update':
      case 'patch':
      case 'delete':
        return this.#related(node, 'resourceslices', attributes)
      case 'list':
      case 'watch':
      case 'deletecollection':
        return selectsNode(attributes, node)
          ? ALLOWED
          : noOpinion('can only list/watch/deletecollection resourceslices with nodeName field selector')
      default:
        return noOpinion(
          'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
        )
    }
  }

  #pod(node: string, attributes: ResourceAttributes): Decision {
    const { verb, subresource, name } = attributes
    switch (subresource === '' ? verb : `${verb} ${subresource}`) {
      case 'get':
        return this.#get(node, 'pods', attributes)
      case 'list':
      case 'watch':
        if (selectsNode(attributes, node)) return ALLOWED
        if (name !== '') return this.#related(node, 'pods', attributes)
        return noOpinion('can only list/watch pods with spec.nodeName field selector')
      // A node makes and removes mirror pods, and reports and evicts what runs on it: admission keeps it to its own.
      case 'create':
      case 'delete':
      case 'update status':
      case 'patch status':
      case 'create eviction':
        return ALLOWED
      default:
        return NO_OPINION
    }
  }
}

function isRead(verb: string): boolean {
  return verb === 'get' || verb === 'list' || verb === 'watch'
}
