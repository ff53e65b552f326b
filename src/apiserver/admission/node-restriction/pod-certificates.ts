/** A kubelet asks for certificates only in the name of pods that run on its node, exactly as they are. */

import type { KubeObject } from '../../../kube/objects.ts'
import { internalError } from '../../../kube/status/availability-errors.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import type { GroupResource } from '../../../kube/status/group-names.ts'
import type { AdmissionRequest } from '../../core/admission.ts'
import { struct, text } from '../../kinds/fields.ts'
import { missingText, NODES, type ObjectLookup, PODS, SERVICE_ACCOUNTS } from '../lookup.ts'
import { MIRROR_ANNOTATION } from '../mirror-pod.ts'
import { earlyRefusal } from '../refusal.ts'

export function checkPodCertificate(node: string, request: AdmissionRequest, lookup: ObjectLookup): void {
  const { namespace, object, operation, subresource } = request
  if (operation !== 'CREATE') throw earlyRefusal(request, `unexpected operation ${operation}`)
  if (subresource !== '') throw earlyRefusal(request, `unexpected subresource ${subresource}`)
  const spec = struct(object, 'spec')
  const field = (name: string): string => text(spec, name)
  if (field('nodeName') !== node) {
    const what = `PodCertificateRequest.Spec.NodeName=${goQuote(field('nodeName'))}`
    throw earlyRefusal(request, `${what}, which is not the requesting node ${goQuote(node)}`)
  }
  mustMatch(lookup, NODES, '', field('nodeName'), field('nodeUID'), 'node')
  const pod = mustMatch(lookup, PODS, namespace, field('podName'), field('podUID'), 'pod')
  const podText = goQuote(`${namespace}/${field('podName')}`)
  const podSpec = struct(pod, 'spec')
  if (text(podSpec, 'nodeName') !== node) {
    const why = `pod ${podText} is not running on node ${goQuote(node)} named in the PodCertificateRequest`
    throw earlyRefusal(request, why)
  }
  if (Object.hasOwn(pod.metadata?.annotations ?? {}, MIRROR_ANNOTATION)) {
    throw earlyRefusal(request, `pod ${podText} is a mirror pod`)
  }
  const account = text(podSpec, 'serviceAccountName')
  if (field('serviceAccountName') !== account) {
    const what = `contains serviceAccountName (${goQuote(field('serviceAccountName'))})`
    const why = `that differs from running pod (${goQuote(account)})`
    throw earlyRefusal(request, `PodCertificateRequest for pod ${podText} ${what} ${why}`)
  }
  mustMatch(lookup, SERVICE_ACCOUNTS, namespace, account, field('serviceAccountUID'), 'service account')
}

/** The object of this name, which must still be the one that the kubelet saw. */
function mustMatch(
  lookup: ObjectLookup,
  resource: GroupResource,
  namespace: string,
  name: string,
  uid: string,
  word: string,
): KubeObject {
  const subject = `${word} ${goQuote(namespace === '' ? name : `${namespace}/${name}`)}`
  const found = lookup.find(resource, namespace, name)
  if (found === undefined) {
    throw internalError(
      `while retrieving ${subject} named in the PodCertificateRequest: ${missingText(resource, name)}`,
    )
  }
  if (found.metadata?.uid !== uid) {
    const present = goQuote(found.metadata?.uid ?? '')
    throw internalError(`the PodCertificateRequest names UID ${goQuote(uid)} for ${subject}, which has ${present}`)
  }
  return found
}
