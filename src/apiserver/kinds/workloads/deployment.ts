/** Deployments, and the ReplicaSets and ReplicationControllers that are made alike. */
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkImmutable, checkNotNegative } from '../checks.ts'
import { type Fields, has, integer, intOrText, struct, textMap } from '../fields.ts'
import { checkLabelSelector, isEmptySelector } from '../label-selector.ts'
import { checkRunningTemplate, checkSelectorMatches } from '../pods/pod-template.ts'
import type { KindRules } from '../rules.ts'
import { amountOf, checkAtMostHundredPercent, checkIntOrPercent, shownRollingUpdate } from './int-or-percent.ts'
import { checkCollisionCount, checkReplicaCounters } from './replica-status.ts'

export const DEPLOYMENT_RULES: KindRules = {
  generationOf: ['spec', 'metadata.annotations'],
  statusMetadata: 'labels-kept',
  check: checkDeployment,
  checkUpdate: (object, old) => [...checkDeployment(object), ...checkSelectorUpdate(object, old)],
  checkStatusUpdate: (object, old) => [
    ...checkReplicaCounters(
      object,
      [
        'observedGeneration',
        'replicas',
        'updatedReplicas',
        'readyReplicas',
        'availableReplicas',
        'unavailableReplicas',
      ],
      ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
    ),
    ...checkCollisionCount(object, old),
  ],
}

const replicaSetCounters = [
  'replicas',
  'fullyLabeledReplicas',
  'readyReplicas',
  'availableReplicas',
  'observedGeneration',
]
const replicaSetParts = ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas']

export const REPLICA_SET_RULES: KindRules = {
  generationOf: ['spec'],
  check: checkReplicaSet,
  checkUpdate: (object, old) => [...checkReplicaSet(object), ...checkSelectorUpdate(object, old)],
  checkStatusUpdate: (object) => checkReplicaCounters(object, replicaSetCounters, replicaSetParts),
}

export const REPLICATION_CONTROLLER_RULES: KindRules = {
  generationOf: ['spec'],
  check: checkReplicationController,
  checkStatusUpdate: (object) => checkReplicaCounters(object, replicaSetCounters, replicaSetParts),
}

function checkDeployment(object: Fields): FieldError[] {
  const spec = struct(object, 'spec') ?? {}
  const [progressSeconds, readySeconds] = [
    integer(spec, 'progressDeadlineSeconds'),
    integer(spec, 'minReadySeconds') ?? 0,
  ]
  const late = progressSeconds !== undefined && progressSeconds <= readySeconds
  return [
    ...checkNotNegative(integer(spec, 'replicas'), 'spec.replicas'),
    ...checkRequiredSelector(spec, 'deployment'),
    ...checkSelectedTemplate(spec),
    ...checkStrategy(struct(spec, 'strategy') ?? {}, 'spec.strategy'),
    ...checkNotNegative(readySeconds, 'spec.minReadySeconds'),
    ...checkNotNegative(integer(spec, 'revisionHistoryLimit'), 'spec.revisionHistoryLimit'),
    ...checkNotNegative(progressSeconds, 'spec.progressDeadlineSeconds'),
    ...(late
      ? [invalidField('spec.progressDeadlineSeconds', progressSeconds, 'must be greater than minReadySeconds')]
      : []),
  ]
}

function checkReplicaSet(object: Fields): FieldError[] {
  const spec = struct(object, 'spec') ?? {}
  return [
    ...checkNotNegative(integer(spec, 'replicas'), 'spec.replicas'),
    ...checkNotNegative(integer(spec, 'minReadySeconds'), 'spec.minReadySeconds'),
    ...checkRequiredSelector(spec, 'deployment'),
    ...checkSelectedTemplate(spec),
  ]
}

function checkReplicationController(object: Fields): FieldError[] {
  const spec = struct(object, 'spec') ?? {}
  const matchLabels = textMap(spec, 'selector')
  const template = struct(spec, 'template')
  return [
    ...checkNotNegative(integer(spec, 'minReadySeconds'), 'spec.minReadySeconds'),
    ...(Object.keys(matchLabels).length === 0 ? [requiredField('spec.selector')] : []),
    ...checkNotNegative(integer(spec, 'replicas'), 'spec.replicas'),
    ...(template === undefined
      ? [requiredField('spec.template')]
      : [
          ...checkSelectorMatches(template, { matchLabels }, 'spec.template'),
          ...checkRunningTemplate(template, 'spec.template', 'ReplicationController'),
        ]),
  ]
}

/** A selector that cannot be read at all hides what is wrong with the template. */
function checkSelectedTemplate(spec: Fields): FieldError[] {
  const [template, selector] = [struct(spec, 'template') ?? {}, struct(spec, 'selector')]
  if (checkLabelSelector(selector, 'spec.selector').length > 0) {
    return [invalidField('spec.selector', selector, 'invalid label selector')]
  }
  return [
    ...checkSelectorMatches(template, selector, 'spec.template'),
    ...checkRunningTemplate(template, 'spec.template', 'ReplicaSet'),
  ]
}

/** A selector must be there and choose something. The API server says `deployment` for a ReplicaSet as well. */
export function checkRequiredSelector(spec: Fields, controller: string): FieldError[] {
  const selector = struct(spec, 'selector')
  if (selector === undefined) return [requiredField('spec.selector')]
  const errors = checkLabelSelector(selector, 'spec.selector')
  if (isEmptySelector(selector)) {
    errors.push(invalidField('spec.selector', selector, `empty selector is invalid for ${controller}`))
  }
  return errors
}

export function checkSelectorUpdate(object: Fields, old: Fields): FieldError[] {
  return checkImmutable(struct(object, 'spec')?.['selector'], struct(old, 'spec')?.['selector'], 'spec.selector')
}

function checkStrategy(strategy: Fields, path: string): FieldError[] {
  const type = strategy['type']
  if (type === 'Recreate') {
    const detail = "may not be specified when strategy `type` is 'Recreate'"
    return has(strategy, 'rollingUpdate') ? [forbiddenField(`${path}.rollingUpdate`, detail)] : []
  }
  if (type !== 'RollingUpdate') {
    const shown = { Type: type ?? '', RollingUpdate: shownRollingUpdate(strategy) }
    return [notSupportedField(path, shown, ['Recreate', 'RollingUpdate'])]
  }
  const rollingUpdate = struct(strategy, 'rollingUpdate')
  const maxUnavailable = intOrText(rollingUpdate, 'maxUnavailable') ?? 0
  const maxSurge = intOrText(rollingUpdate, 'maxSurge') ?? 0
  const at = `${path}.rollingUpdate.maxUnavailable`
  const stuck = amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0
  return [
    ...checkIntOrPercent(maxUnavailable, at),
    ...checkIntOrPercent(maxSurge, `${path}.rollingUpdate.maxSurge`),
    ...(stuck ? [invalidField(at, maxUnavailable, 'may not be 0 when `maxSurge` is 0')] : []),
    ...checkAtMostHundredPercent(maxUnavailable, at),
  ]
}
