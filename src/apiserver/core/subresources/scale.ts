/** `scale`: the number of replicas of a workload, read and changed alike for every kind that keeps some. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { ResourceRequest } from '../../../kube/request-info.ts'
import {
  formatLabelSelector,
  type LabelSelectorObject,
  labelSelectorFromObject,
} from '../../../kube/selectors/label.ts'
import { invalid } from '../../../kube/status/resource-errors.ts'
import { checkNotNegative } from '../../kinds/checks.ts'
import { ensureStruct, integer, struct, textMap } from '../../kinds/fields.ts'
import { checkMetadata } from '../../kinds/metadata.ts'
import { dnsSubdomain } from '../../kinds/names.ts'
import { MAX_QUESTION_BYTES, readQuestion } from '../../objects/decode-body.ts'
import { patchObject, readPatch } from '../../objects/patch.ts'
import type { Resource } from '../../objects/resource.ts'
import type { RequestContext } from '../../request/handler.ts'
import { updateObject } from '../write/update.ts'
import { writeRequestOf } from '../write/write-request.ts'
import { Answer } from './answer.ts'
import type { SubresourceParts } from './parts.ts'
import { checkSameName, kindOf } from './places.ts'

const scaleKind = kindOf('autoscaling/v1', 'Scale')

export async function serveScale(
  parts: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
  resource: Resource,
): Promise<void> {
  const answer = Answer.forObject(context, parts.clock.nowMs())
  const workload =
    info.verb === 'get'
      ? (await parts.reader.get(resource, info.namespace, info.name, context)).object()
      : await changeScale(parts, context, info, resource)
  await answer.send(200, scaleOf(workload), scaleKind)
}

async function changeScale(
  { writer }: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
  resource: Resource,
): Promise<KubeObject> {
  const wanted = info.verb === 'patch' ? await patched(context) : await replacement(context, info)
  const { item } = await updateObject(writer, writeRequestOf(context, resource), (current) => {
    const workload = current.object()
    return scaled(workload, wanted(scaleOf(workload)))
  })
  return item.object()
}

async function patched(context: RequestContext): Promise<(scale: KubeObject) => KubeObject> {
  const patch = await readPatch(context, MAX_QUESTION_BYTES)
  return (scale) => {
    const { object, warnings } = patchObject(patch, scale, scaleKind)
    for (const warning of warnings) context.warnings.add(warning)
    return object
  }
}

async function replacement(context: RequestContext, { name, namespace }: ResourceRequest): Promise<() => KubeObject> {
  const scale = await readQuestion(context, scaleKind)
  checkSameName(scale, name, namespace)
  return () => scale
}

/** The workload with the replicas of the scale, and with its uid and version, so that these are compared. */
function scaled(workload: KubeObject, scale: KubeObject): KubeObject {
  const { name = '', namespace = '' } = workload.metadata ?? {}
  const replicas = integer(struct(scale, 'spec'), 'replicas') ?? 0
  const placed = { ...scale, metadata: { ...scale.metadata, namespace } }
  const errors = [
    ...checkMetadata(placed, { namespaced: true, name: dnsSubdomain }),
    ...checkNotNegative(replicas, 'spec.replicas'),
  ]
  if (errors.length > 0) throw invalid({ group: 'autoscaling', kind: 'Scale' }, name, errors)
  ensureStruct(workload, 'spec')['replicas'] = replicas
  const { uid, resourceVersion } = scale.metadata ?? {}
  workload.metadata = { ...workload.metadata, resourceVersion: resourceVersion ?? '' }
  if (uid !== undefined) workload.metadata.uid = uid
  return workload
}

function scaleOf(workload: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = workload.metadata ?? {}
  const replicas = integer(struct(workload, 'spec'), 'replicas') ?? 0
  const status = { replicas: integer(struct(workload, 'status'), 'replicas') ?? 0, selector: selectorText(workload) }
  const metadata = { name, namespace, uid, resourceVersion, creationTimestamp } as NonNullable<KubeObject['metadata']>
  return { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata, spec: { replicas }, status }
}

/** A ReplicationController selects by plain labels, all others with a LabelSelector. */
function selectorText(workload: KubeObject): string {
  const spec = struct(workload, 'spec')
  const selector =
    workload.kind === 'ReplicationController'
      ? { matchLabels: textMap(spec, 'selector') }
      : (struct(spec, 'selector') as LabelSelectorObject | undefined)
  return formatLabelSelector(labelSelectorFromObject(selector))
}
