/** `bindings` and `pods/binding`: a scheduler says on which node a pod shall run. */

import type { KubeObject } from '../../../kube/objects.ts'
import type { ResourceRequest } from '../../../kube/request-info.ts'
import {
  type FieldError,
  formatFieldErrors,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { conflict } from '../../../kube/status/resource-errors.ts'
import { ApiError, successStatus } from '../../../kube/status/status.ts'
import { ensureStruct, has, struct, structs, text, textMap } from '../../kinds/fields.ts'
import { readQuestion } from '../../objects/decode-body.ts'
import { builtIn } from '../../objects/resource.ts'
import type { RequestContext } from '../../request/handler.ts'
import { writeRequestOf } from '../write/write-request.ts'
import { Answer } from './answer.ts'
import { setCondition } from './conditions.ts'
import type { SubresourceParts } from './parts.ts'
import { checkSameNamespace, kindOf } from './places.ts'
import { changeStored } from './stored-change.ts'

const bindingKind = kindOf('v1', 'Binding')
const pods = builtIn('v1', 'pods')

export async function serveBinding(
  { writer, clock }: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
): Promise<void> {
  const answer = Answer.forObject(context, clock.nowMs())
  const binding = await readQuestion(context, bindingKind)
  checkSameNamespace(binding.metadata?.namespace ?? '', info.namespace)
  const name = binding.metadata?.name ?? ''
  if (info.resource === 'pods' && name !== info.name) {
    throw badRequest('name in URL does not match name in Binding object')
  }
  checkBinding(binding)
  const request = { ...writeRequestOf(context, pods), subresource: 'binding', name }
  const admission = writer.admissionRequest(request, 'CREATE', binding, undefined)
  await writer.parts.admission.admit(admission)
  await writer.parts.admission.validate(admission)
  await changeStored(writer, request, (pod) => bind(pod, binding, writer.timestamp()))
  await answer.sendStatus(201, { ...successStatus(), code: 201 })
}

/** The API server sends what is wrong with a binding as an error without a reason. */
function checkBinding(binding: KubeObject): void {
  const target = struct(binding, 'target')
  const [kind, name] = [text(target, 'kind'), text(target, 'name')]
  const errors: FieldError[] = []
  if (kind !== '' && kind !== 'Node') errors.push(notSupportedField('target.kind', kind, ['Node', '<empty>']))
  if (name === '') errors.push(requiredField('target.name'))
  if (errors.length > 0) throw new ApiError({ code: 500, message: formatFieldErrors(errors) })
}

function bind(pod: KubeObject, binding: KubeObject, now: string): void {
  checkPreconditions(pod, binding)
  const name = pod.metadata?.name ?? ''
  const spec = ensureStruct(pod, 'spec')
  const refuse = (why: string): never => {
    throw conflict({ group: '', resource: 'pods/binding' }, name, why)
  }
  if (pod.metadata?.deletionTimestamp !== undefined) {
    refuse(`pod ${name} is being deleted, cannot be assigned to a host`)
  }
  const node = text(spec, 'nodeName')
  if (node !== '') refuse(`pod ${name} is already assigned to node ${goQuote(node)}`)
  if (structs(spec, 'schedulingGates').length > 0) refuse(`pod ${name} has non-empty .spec.schedulingGates`)
  spec['nodeName'] = text(struct(binding, 'target'), 'name')
  delete ensureStruct(pod, 'status')['nominatedNodeName']
  for (const field of ['annotations', 'labels']) {
    const added = textMap(struct(binding, 'metadata'), field)
    if (Object.keys(added).length > 0) Object.assign(ensureStruct(ensureStruct(pod, 'metadata'), field), added)
  }
  setCondition(pod, { type: 'PodScheduled', status: 'True' }, now)
}

function checkPreconditions(pod: KubeObject, binding: KubeObject): void {
  const [wanted, present] = [struct(binding, 'metadata'), struct(pod, 'metadata')]
  for (const [field, word] of [['uid', 'UID'] as const, ['resourceVersion', 'ResourceVersion'] as const]) {
    if (!has(wanted, field) || text(wanted, field) === '' || text(wanted, field) === text(present, field)) continue
    const key = `/registry/pods/${text(present, 'namespace')}/${text(present, 'name')}`
    const detail = `Precondition failed: ${word} in precondition: ${text(wanted, field)}, ${word} in object meta: ${text(present, field)}`
    const why = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${detail}`
    throw conflict(pods.groupResource, text(present, 'name'), why)
  }
}
