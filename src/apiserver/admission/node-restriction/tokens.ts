/** A kubelet gets tokens only for pods on its node, bound to them, and only for audiences that the pod itself names. */
import type { KubeObject } from '../../../kube/objects.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import type { AdmissionRequest } from '../../core/admission.ts'
import { type Fields, struct, structs, text, texts } from '../../kinds/fields.ts'
import { type Authorizer, joinErrors } from '../../request/authorizer.ts'
import { CLAIMS, CSI_DRIVERS, missing, missingText, type ObjectLookup, PODS, VOLUMES } from '../lookup.ts'
import { earlyRefusal } from '../refusal.ts'

export interface TokenCheckParts {
  readonly lookup: ObjectLookup
  readonly authorizer: Authorizer
}

export function checkToken(node: string, request: AdmissionRequest, parts: TokenCheckParts): void {
  if (request.operation !== 'CREATE' || request.subresource !== 'token') return
  const spec = struct(request.object, 'spec')
  const bound = struct(spec, 'boundObjectRef')
  const [name, uid] = [text(bound, 'name'), text(bound, 'uid')]
  if (text(bound, 'apiVersion') !== 'v1' || text(bound, 'kind') !== 'Pod' || name === '') {
    throw earlyRefusal(request, 'node requested token not bound to a pod')
  }
  if (uid === '') throw earlyRefusal(request, 'node requested token with a pod binding without a uid')
  const pod = parts.lookup.find(PODS, request.namespace, name)
  if (pod === undefined) throw missing(PODS, name)
  if (pod.metadata?.uid !== uid) {
    const mismatch = `the UID in the bound object reference (${uid}) does not match the UID in record`
    throw earlyRefusal(request, `${mismatch}. The object might have been deleted and then recreated`)
  }
  if (text(struct(pod, 'spec'), 'nodeName') !== node) {
    throw earlyRefusal(request, 'node requested token bound to a pod scheduled on a different node')
  }
  checkAudience(texts(spec, 'audiences'), pod, request, parts)
}

function checkAudience(
  audiences: readonly string[],
  pod: KubeObject,
  request: AdmissionRequest,
  { lookup, authorizer }: TokenCheckParts,
): void {
  if (audiences.length > 1) throw earlyRefusal(request, 'node may only request 0 or 1 audiences')
  const [audience = ''] = audiences
  const search = findAudience(pod, audience, lookup)
  if (search.found) return
  if (search.errors.length > 0) {
    throw earlyRefusal(request, `error validating audience ${goQuote(audience)}: ${joinErrors(search.errors)}`)
  }
  const { verdict } = authorizer.authorize({
    kind: 'resource',
    user: request.user,
    verb: 'request-serviceaccounts-token-audience',
    namespace: request.namespace,
    apiGroup: '',
    apiVersion: 'v1',
    resource: audience,
    subresource: '',
    name: request.name,
    fieldSelector: '',
    labelSelector: '',
  })
  if (verdict === 'allow') return
  const why = `${request.user.name} is not authorized to request tokens for this audience`
  throw earlyRefusal(request, `audience ${goQuote(audience)} not found in pod spec volume, ${why}`)
}

interface AudienceSearch {
  readonly found: boolean
  readonly errors: readonly string[]
}

/** In the token volumes of the pod, and in the drivers of its CSI volumes, which get tokens from the kubelet. */
function findAudience(pod: KubeObject, audience: string, lookup: ObjectLookup): AudienceSearch {
  const errors: string[] = []
  for (const volume of structs(struct(pod, 'spec'), 'volumes')) {
    const projected = structs(struct(volume, 'projected'), 'sources')
      .map((source) => struct(source, 'serviceAccountToken'))
      .filter((token) => token !== undefined)
    if (projected.some((token) => text(token, 'audience') === audience)) return { found: true, errors: [] }
    const driver = driverOf(volume, pod, lookup)
    if (driver.missing !== undefined) errors.push(driver.missing)
    if (driver.name === '') continue
    const object = lookup.find(CSI_DRIVERS, '', driver.name)
    if (object === undefined) errors.push(missingText(CSI_DRIVERS, driver.name))
    const requests = structs(struct(object, 'spec'), 'tokenRequests')
    if (requests.some((token) => text(token, 'audience') === audience)) return { found: true, errors: [] }
  }
  return { found: false, errors }
}

interface Driver {
  readonly name: string
  readonly missing?: string
}

function driverOf(volume: Fields, pod: KubeObject, lookup: ObjectLookup): Driver {
  const inline = text(struct(volume, 'csi'), 'driver')
  if (inline !== '') return { name: inline }
  const { namespace = '', name: podName = '' } = pod.metadata ?? {}
  const isEphemeral = struct(struct(volume, 'ephemeral'), 'volumeClaimTemplate') !== undefined
  const claimName = isEphemeral
    ? `${podName}-${text(volume, 'name')}`
    : text(struct(volume, 'persistentVolumeClaim'), 'claimName')
  if (claimName === '') return { name: '' }
  const claim = lookup.find(CLAIMS, namespace, claimName)
  if (claim === undefined) return { name: '', missing: missingText(CLAIMS, claimName) }
  const volumeName = text(struct(claim, 'spec'), 'volumeName')
  const found = lookup.find(VOLUMES, '', volumeName)
  if (found === undefined) return { name: '', missing: missingText(VOLUMES, volumeName) }
  return { name: text(struct(struct(found, 'spec'), 'csi'), 'driver') }
}
