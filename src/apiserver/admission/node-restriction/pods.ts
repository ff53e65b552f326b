/** A kubelet creates mirror pods only, and touches no pods but those bound to its node. */
import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../../../kube/objects.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import type { AdmissionRequest } from '../../core/admission.ts'
import { type Fields, struct, structs, text } from '../../kinds/fields.ts'
import { missing, NODES, type ObjectLookup, PODS } from '../lookup.ts'
import { apiReference, MIRROR_ANNOTATION } from '../mirror-pod.ts'
import { earlyRefusal } from '../refusal.ts'

export function checkPod(node: string, request: AdmissionRequest, lookup: ObjectLookup): void {
  const { operation, subresource } = request
  if (subresource === 'status') checkStatus(node, request)
  else if (subresource === 'eviction') checkEviction(node, request, lookup)
  else if (subresource !== '') {
    const why = `unexpected pod subresource ${goQuote(subresource)}, only 'status' and 'eviction' are allowed`
    throw earlyRefusal(request, why)
  } else if (operation === 'CREATE') checkMirrorPod(node, request, lookup)
  else if (operation === 'DELETE') {
    if (nodeOf(existing(request, lookup)) !== node) {
      throw earlyRefusal(request, `node ${goQuote(node)} can only delete pods with spec.nodeName set to itself`)
    }
  } else {
    const why = `unexpected operation ${goQuote(operation)}, node ${goQuote(node)} can only create and delete mirror pods`
    throw earlyRefusal(request, why)
  }
}

function existing({ namespace, name }: AdmissionRequest, lookup: ObjectLookup): KubeObject {
  const pod = lookup.find(PODS, namespace, name)
  if (pod === undefined) throw missing(PODS, name)
  return pod
}

function nodeOf(pod: KubeObject | undefined): string {
  return text(struct(pod, 'spec'), 'nodeName')
}

function checkMirrorPod(node: string, request: AdmissionRequest, lookup: ObjectLookup): void {
  const pod = request.object ?? {}
  const spec = struct(pod, 'spec') ?? {}
  const refuse = (why: string) => earlyRefusal(request, why)
  if (!Object.hasOwn(pod.metadata?.annotations ?? {}, MIRROR_ANNOTATION)) {
    const what = `pod does not have ${goQuote(MIRROR_ANNOTATION)} annotation`
    throw refuse(`${what}, node ${goQuote(node)} can only create mirror pods`)
  }
  if (nodeOf(pod) !== node) throw refuse(`node ${goQuote(node)} can only create pods with spec.nodeName set to itself`)
  checkOwner(node, request, lookup)
  const reference = apiReference(spec)
  if (reference?.kind === 'unknown') throw refuse(`error checking mirror pod for API references: ${reference.why}`)
  if (reference !== undefined)
    throw refuse(`node ${goQuote(node)} can not create pods that reference ${reference.what}`)
}

function checkOwner(node: string, request: AdmissionRequest, lookup: ObjectLookup): void {
  const [owner, ...others] = request.object?.metadata?.ownerReferences ?? []
  const only = `node ${goQuote(node)} can only create pods with`
  if (others.length > 0) throw earlyRefusal(request, `${only} a single owner reference set to itself`)
  if (owner === undefined || owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) {
    throw earlyRefusal(request, `${only} an owner reference set to itself`)
  }
  if (owner.controller !== true) throw earlyRefusal(request, `${only} a controller owner reference set to itself`)
  if (owner.blockOwnerDeletion === true) {
    throw earlyRefusal(request, `node ${goQuote(node)} must not set blockOwnerDeletion on an owner reference`)
  }
  const found = lookup.find(NODES, '', node)
  if (found === undefined) throw missing(NODES, node)
  const uid = found.metadata?.uid ?? ''
  if (owner.uid !== uid) {
    throw earlyRefusal(request, `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`)
  }
}

function checkStatus(node: string, request: AdmissionRequest): void {
  const { object, old, operation } = request
  const quoted = goQuote(node)
  if (operation !== 'UPDATE') throw earlyRefusal(request, `unexpected operation ${goQuote(operation)}`)
  if (nodeOf(old) !== node) {
    const why = `node ${quoted} can only update pod status for pods with spec.nodeName set to itself`
    throw earlyRefusal(request, why)
  }
  if (!isDeepStrictEqual(object?.metadata?.labels ?? {}, old?.metadata?.labels ?? {})) {
    throw earlyRefusal(request, `node ${quoted} cannot update labels through pod status`)
  }
  const [now, before] = [struct(object, 'status'), struct(old, 'status')]
  if (!isDeepStrictEqual(claimsOf(now), claimsOf(before))) {
    throw earlyRefusal(request, `node ${quoted} cannot update resource claim statues`)
  }
  if (!isDeepStrictEqual(extendedClaimOf(now), extendedClaimOf(before))) {
    throw earlyRefusal(request, `node ${quoted} cannot update extended resource claim status`)
  }
}

function claimsOf(status: Fields | undefined): unknown {
  return structs(status, 'resourceClaimStatuses').map((claim) => [
    text(claim, 'name'),
    claim['resourceClaimName'] ?? null,
  ])
}

function extendedClaimOf(status: Fields | undefined): unknown {
  const claim = struct(status, 'extendedResourceClaimStatus')
  if (claim === undefined) return undefined
  const mappings = structs(claim, 'requestMappings').map((mapping) =>
    ['containerName', 'resourceName', 'requestName'].map((field) => text(mapping, field)),
  )
  return [text(claim, 'resourceClaimName'), mappings]
}

function checkEviction(node: string, request: AdmissionRequest, lookup: ObjectLookup): void {
  if (request.operation !== 'CREATE') throw earlyRefusal(request, `unexpected operation ${request.operation}`)
  if (request.name === '') throw earlyRefusal(request, 'could not determine pod from request data')
  if (nodeOf(existing(request, lookup)) !== node) {
    throw earlyRefusal(request, `node ${node} can only evict pods with spec.nodeName set to itself`)
  }
}
