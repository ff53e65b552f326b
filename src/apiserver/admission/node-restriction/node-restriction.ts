/**
 * What a kubelet may write, beyond what it may call: its own Node, lease, CSINode and slices, the pods on its node, and
 * tokens and certificates for them. A node that was broken into must stay the only one that is lost.
 */
import { commonName } from '../../../identity/distinguished-name.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import type { GroupResource } from '../../../kube/status/group-names.ts'
import { nodeNameOf } from '../../auth/node/identity.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../../core/admission.ts'
import { struct, text } from '../../kinds/fields.ts'
import type { Authorizer } from '../../request/authorizer.ts'
import {
  CLAIMS,
  CSI_NODES,
  LEASES,
  NODES,
  type ObjectLookup,
  POD_CERTIFICATE_REQUESTS,
  PODS,
  RESOURCE_SLICES,
  SERVICE_ACCOUNTS,
  SIGNING_REQUESTS,
} from '../lookup.ts'
import { concerns, earlyRefusal } from '../refusal.ts'
import { requestedSubject } from '../requested-subject.ts'
import { checkClaim } from './claims.ts'
import { checkNode } from './nodes.ts'
import { checkPodCertificate } from './pod-certificates.ts'
import { checkPod } from './pods.ts'
import { checkToken } from './tokens.ts'

const leaseNamespace = 'kube-node-lease'
const kubeletSigners = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet']

type Check = (node: string, request: AdmissionRequest) => void | Promise<void>

export class NodeRestriction implements AdmissionPlugin {
  readonly name = 'NodeRestriction'
  readonly #checks: readonly (readonly [GroupResource, Check])[]

  constructor(lookup: ObjectLookup, authorizer: Authorizer) {
    this.#checks = [
      [PODS, (node, request) => checkPod(node, request, lookup)],
      [NODES, checkNode],
      [CLAIMS, checkClaim],
      [SERVICE_ACCOUNTS, (node, request) => checkToken(node, request, { lookup, authorizer })],
      [POD_CERTIFICATE_REQUESTS, (node, request) => checkPodCertificate(node, request, lookup)],
      [LEASES, checkLease],
      [CSI_NODES, checkCsiNode],
      [RESOURCE_SLICES, checkResourceSlice],
      [SIGNING_REQUESTS, checkSigningRequest],
    ]
  }

  async admit(request: AdmissionRequest): Promise<void> {
    if (request.operation !== 'DELETE') await this.#check(request)
  }

  /** A delete changes no object, so it is only ever asked here. */
  async validate(request: AdmissionRequest): Promise<void> {
    if (request.operation === 'DELETE') await this.#check(request)
  }

  async #check(request: AdmissionRequest): Promise<void> {
    const node = nodeNameOf(request.user)
    if (node === undefined) return
    if (node === '') throw earlyRefusal(request, `could not determine node from user ${goQuote(request.user.name)}`)
    const [, check] = this.#checks.find(([resource]) => concerns(request, resource)) ?? []
    await check?.(node, request)
  }
}

function checkLease(node: string, request: AdmissionRequest): void {
  if (request.namespace !== leaseNamespace) {
    throw earlyRefusal(request, `can only access leases in the ${goQuote(leaseNamespace)} system namespace`)
  }
  if (request.name !== node) {
    throw earlyRefusal(request, 'can only access node lease with the same name as the requesting node')
  }
}

function checkCsiNode(node: string, request: AdmissionRequest): void {
  if (request.name !== node) {
    throw earlyRefusal(request, 'can only access CSINode with the same name as the requesting node')
  }
}

/** An update cannot change the node, and the authorizer lets a node update its own slices only. */
function checkResourceSlice(node: string, request: AdmissionRequest): void {
  const { operation, object, old } = request
  if (operation !== 'CREATE' && operation !== 'DELETE') return
  if (text(struct(operation === 'CREATE' ? object : old, 'spec'), 'nodeName') !== node) {
    const verb = operation === 'CREATE' ? 'create' : 'delete'
    throw earlyRefusal(request, `can only ${verb} ResourceSlice with the same NodeName as the requesting node`)
  }
}

async function checkSigningRequest(node: string, request: AdmissionRequest): Promise<void> {
  const spec = struct(request.object, 'spec')
  if (request.operation !== 'CREATE' || !kubeletSigners.includes(text(spec, 'signerName'))) return
  const subject = await requestedSubject(spec)
  if (!subject.readable) throw earlyRefusal(request, `unable to parse csr: ${subject.why}`)
  if (commonName(subject.name) !== `system:node:${node}`) {
    throw earlyRefusal(request, `can only create a node CSR with CN=system:node:${node}`)
  }
}
