/** What an update may change in a pod: hardly anything. */
import { type FieldError, forbiddenField, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { checkEach } from '../checks.ts'
import { sameStored } from '../equality.ts'
import { copyField, type Fields, has, integer, struct, structs, text, textMap } from '../fields.ts'
import { inRange, MAX_ID } from '../names.ts'
import { checkImageSpelling } from './containers.ts'
import { specDifference } from './spec-difference.ts'
import { checkOnlyAddedTolerations } from './tolerations.ts'

const changeableFields = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
]
/** Marks the image that a kubelet shows of a pod that only it knows. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror'

export function checkPodUpdate(pod: Fields, oldPod: Fields): FieldError[] {
  const [spec, old] = [struct(pod, 'spec') ?? {}, struct(oldPod, 'spec') ?? {}]
  const errors: FieldError[] = []
  for (const name of ['containers', 'initContainers']) {
    const [containers, before] = [structs(spec, name), structs(old, name)]
    if (containers.length !== before.length) {
      return [...errors, forbiddenField(`spec.${name}`, 'pod updates may not add or remove containers')]
    }
    errors.push(...checkEach(containers, `spec.${name}`, checkImage))
  }
  const deadlineErrors = checkDeadlineUpdate(spec, old)
  errors.push(...deadlineErrors)
  if (deadlineErrors.length > 0 && has(spec, 'activeDeadlineSeconds')) return errors
  return [
    ...errors,
    ...checkOnlyAddedTolerations(spec, old, 'spec.tolerations'),
    ...checkOnlyDeletedGates(spec, old, 'spec.schedulingGates'),
    ...checkRestIsSame(spec, old),
  ]
}

function checkImage(container: Fields, path: string): FieldError[] {
  const missing = text(container, 'image') === '' ? [requiredField(`${path}.image`)] : []
  return [...missing, ...checkImageSpelling(container, path)]
}

export function checkAnnotationUpdate(pod: Fields, oldPod: Fields): FieldError[] {
  const now = textMap(struct(pod, 'metadata'), 'annotations')[MIRROR_ANNOTATION]
  const before = textMap(struct(oldPod, 'metadata'), 'annotations')[MIRROR_ANNOTATION]
  const at = `metadata.annotations[${MIRROR_ANNOTATION}]`
  if (now === before) return []
  const detail =
    before === undefined ? 'may not add mirror pod annotation' : 'may not remove or update mirror pod annotation'
  return [forbiddenField(at, detail)]
}

function checkDeadlineUpdate(spec: Fields, old: Fields): FieldError[] {
  const [seconds, before] = [integer(spec, 'activeDeadlineSeconds'), integer(old, 'activeDeadlineSeconds')]
  const at = 'spec.activeDeadlineSeconds'
  if (seconds === undefined) {
    const detail = 'must not update from a positive integer to nil value'
    return before === undefined ? [] : [invalidField(at, null, detail)]
  }
  const outOfRange = inRange(seconds, 0, MAX_ID)
  if (outOfRange.length > 0) return outOfRange.map((breach) => invalidField(at, seconds, breach))
  return before !== undefined && before < seconds
    ? [invalidField(at, seconds, 'must be less than or equal to previous value')]
    : []
}

function checkOnlyDeletedGates(spec: Fields, old: Fields, path: string): FieldError[] {
  const before = new Set(structs(old, 'schedulingGates').map((gate) => text(gate, 'name')))
  return checkEach(structs(spec, 'schedulingGates'), path, (gate, at) => {
    const name = text(gate, 'name')
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`
    return before.has(name) ? [] : [forbiddenField(`${at}.name`, detail)]
  })
}

/** Everything that may change is put back; what then differs may not. */
function checkRestIsSame(spec: Fields, old: Fields): FieldError[] {
  const restored = structuredClone(spec)
  for (const name of ['containers', 'initContainers']) {
    for (const [index, container] of structs(restored, name).entries()) {
      copyField(container, structs(old, name)[index] ?? {}, 'image')
    }
  }
  for (const name of ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']) copyField(restored, old, name)
  if ((integer(old, 'terminationGracePeriodSeconds') ?? 0) < 0 && restored['terminationGracePeriodSeconds'] === 1) {
    copyField(restored, old, 'terminationGracePeriodSeconds')
  }
  if (structs(old, 'schedulingGates').length > 0) {
    copyField(restored, old, 'nodeSelector')
    copyField(restored, old, 'affinity')
  }
  if (sameStored(restored, old)) return []
  const detail = `pod updates may not change fields other than ${changeableFields.join(',')}`
  return [forbiddenField('spec', `${detail}\n${specDifference(old, restored)}`)]
}
