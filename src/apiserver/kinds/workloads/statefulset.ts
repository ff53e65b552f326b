/** StatefulSets, and the ControllerRevisions in which they and DaemonSets keep their history. */
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkEach, checkImmutable, checkName, checkNotNegative, checkSupported } from '../checks.ts'
import { sameStored } from '../equality.ts'
import { type Fields, has, integer, intOrText, isFields, struct, structs, text, textMap } from '../fields.ts'
import { checkLabelSelector } from '../label-selector.ts'
import { checkAnnotations, checkLabels } from '../metadata.ts'
import { dnsLabel } from '../names.ts'
import { checkPodTemplate, checkSelectorMatches } from '../pods/pod-template.ts'
import type { KindRules } from '../rules.ts'
import { checkClaimSpec } from '../storage/persistent-volume-claim.ts'
import { checkRequiredSelector } from './deployment.ts'
import { amountOf, checkAtMostHundredPercent, checkIntOrPercent } from './int-or-percent.ts'
import { checkCollisionCount, checkReplicaCounters } from './replica-status.ts'

const changeableFields = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]

export const STATEFUL_SET_RULES: KindRules = {
  name: dnsLabel,
  generationOf: ['spec'],
  prepareForCreate: (object) => dropUnreleasedFields(object, undefined),
  prepareForUpdate: dropUnreleasedFields,
  check: (object) => checkStatefulSet(object, true),
  checkUpdate: (object, old) => [...checkStatefulSet(object, false), ...checkRestIsSame(object, old)],
  checkStatusUpdate: (object, old) => [
    ...checkReplicaCounters(
      object,
      ['replicas', 'readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas', 'observedGeneration'],
      ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
      'status.readyReplicas',
    ),
    ...checkCollisionCount(object, old),
  ],
}

export const CONTROLLER_REVISION_RULES: KindRules = {
  check: (object) => [
    ...checkNotNegative(integer(object, 'revision'), 'revision'),
    ...(has(object, 'data')
      ? isFields(object['data'])
        ? []
        : [requiredField('data', 'data must be a valid JSON object')]
      : [requiredField('data', 'data is mandatory')]),
  ],
  checkUpdate: (object, old) => [
    ...checkNotNegative(integer(object, 'revision'), 'revision'),
    ...checkImmutable(object['data'], old['data'], 'data'),
  ],
}

/** `maxUnavailable` is not switched on in this release; only objects that have it keep it. */
function dropUnreleasedFields(object: Fields, old: Fields | undefined): void {
  const rollingUpdate = (owner: Fields | undefined): Fields | undefined =>
    struct(struct(struct(owner, 'spec'), 'updateStrategy'), 'rollingUpdate')
  if (!has(rollingUpdate(old), 'maxUnavailable')) delete rollingUpdate(object)?.['maxUnavailable']
}

function checkStatefulSet(object: Fields, isNew: boolean): FieldError[] {
  const spec = struct(object, 'spec') ?? {}
  const claims = structs(spec, 'volumeClaimTemplates')
  const serviceName = text(spec, 'serviceName')
  const podSpec = struct(struct(spec, 'template'), 'spec') ?? {}
  const policy = text(podSpec, 'restartPolicy')
  return [
    ...checkPodManagement(text(spec, 'podManagementPolicy')),
    ...checkUpdateStrategy(struct(spec, 'updateStrategy') ?? {}, 'spec.updateStrategy'),
    ...checkRetention(struct(spec, 'persistentVolumeClaimRetentionPolicy')),
    ...(isNew
      ? checkEach(claims, 'spec.volumeClaimTemplates', (claim, at) =>
          checkClaimSpec(struct(claim, 'spec') ?? {}, `${at}.spec`),
        )
      : []),
    ...checkNotNegative(integer(spec, 'replicas'), 'spec.replicas'),
    ...checkNotNegative(integer(spec, 'minReadySeconds'), 'spec.minReadySeconds'),
    ...checkNotNegative(integer(struct(spec, 'ordinals'), 'start'), 'spec.ordinals.start'),
    ...(isNew && serviceName !== '' ? checkName(serviceName, 'spec.serviceName', dnsLabel) : []),
    ...checkRequiredSelector(spec, 'statefulset'),
    ...checkTemplate(spec, claims),
    ...(policy === 'Always' ? [] : [notSupportedField('spec.template.spec.restartPolicy', policy, ['Always'])]),
    ...(has(podSpec, 'activeDeadlineSeconds')
      ? [
          forbiddenField(
            'spec.template.spec.activeDeadlineSeconds',
            'activeDeadlineSeconds in StatefulSet is not Supported',
          ),
        ]
      : []),
  ]
}

/** Containers may mount the claims of the set like volumes. The API server reports bad labels twice here. */
function checkTemplate(spec: Fields, claims: readonly Fields[]): FieldError[] {
  const template = struct(spec, 'template') ?? {}
  const podSpec = { ...struct(template, 'spec') }
  delete podSpec['hostname']
  delete podSpec['subdomain']
  const claimNames = claims.map((claim) => text(struct(claim, 'metadata'), 'name'))
  const claimed = new Set(claimNames)
  podSpec['volumes'] = [
    ...claimNames.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...structs(podSpec, 'volumes').filter((volume) => !claimed.has(text(volume, 'name'))),
  ]
  const selector = struct(spec, 'selector')
  if (checkLabelSelector(selector, 'spec.selector').length > 0) return [invalidField('spec.selector', selector, '')]
  return [
    ...checkSelectorMatches(template, selector, 'spec.template'),
    ...checkPodTemplate({ ...template, spec: podSpec }, 'spec.template'),
    ...checkLabels(textMap(struct(template, 'metadata'), 'labels'), 'spec.template.labels'),
    ...checkAnnotations(textMap(struct(template, 'metadata'), 'annotations'), 'spec.template.annotations'),
  ]
}

function checkPodManagement(policy: string): FieldError[] {
  if (policy === '') return [requiredField('spec.podManagementPolicy')]
  return ['OrderedReady', 'Parallel'].includes(policy)
    ? []
    : [invalidField('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'")]
}

function checkUpdateStrategy(strategy: Fields, path: string): FieldError[] {
  const type = text(strategy, 'type')
  const rollingUpdate = struct(strategy, 'rollingUpdate')
  const shown = {
    Partition: rollingUpdate?.['partition'] ?? 0,
    MaxUnavailable: rollingUpdate?.['maxUnavailable'] ?? null,
  }
  if (type === '') return [requiredField(path)]
  if (type === 'OnDelete') {
    const detail = "only allowed for updateStrategy 'RollingUpdate'"
    return rollingUpdate === undefined ? [] : [invalidField(`${path}.rollingUpdate`, shown, detail)]
  }
  if (type !== 'RollingUpdate') {
    const value = { Type: type, RollingUpdate: rollingUpdate === undefined ? null : shown }
    return [invalidField(path, value, "must be 'RollingUpdate' or 'OnDelete'")]
  }
  const errors = checkNotNegative(integer(rollingUpdate, 'partition'), `${path}.rollingUpdate.partition`)
  const maxUnavailable = intOrText(rollingUpdate, 'maxUnavailable')
  if (maxUnavailable === undefined) return errors
  const at = `${path}.rollingUpdate.maxUnavailable`
  return [
    ...errors,
    ...checkIntOrPercent(maxUnavailable, at),
    ...(amountOf(maxUnavailable) === 0 ? [invalidField(at, maxUnavailable, 'cannot be 0')] : []),
    ...checkAtMostHundredPercent(maxUnavailable, at),
  ]
}

function checkRetention(policy: Fields | undefined): FieldError[] {
  if (policy === undefined) return []
  return ['whenDeleted', 'whenScaled'].flatMap((name) =>
    checkSupported(text(policy, name), `spec.persistentVolumeClaimRetentionPolicy.${name}`, ['Retain', 'Delete']),
  )
}

function checkRestIsSame(object: Fields, old: Fields): FieldError[] {
  const rest = (owner: Fields): Fields => {
    const spec = struct(owner, 'spec') ?? {}
    const fixed = Object.entries(spec).filter(([name]) => !changeableFields.includes(name))
    return { ...Object.fromEntries(fixed), volumeClaimTemplates: structs(spec, 'volumeClaimTemplates').map(untyped) }
  }
  if (sameStored(rest(object), rest(old))) return []
  const listed = changeableFields.slice(0, -1).map((name) => `'${name}'`)
  const detail = `updates to statefulset spec for fields other than ${listed.join(', ')} and 'minReadySeconds' are forbidden`
  return [forbiddenField('spec', detail)]
}

/** The server writes the kind into templates; whether it is there changes nothing. */
function untyped({ kind: _kind, apiVersion: _apiVersion, ...claim }: Fields): Fields {
  return claim
}
