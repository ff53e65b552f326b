/** DaemonSets. */
import { type FieldError, invalidField, notSupportedField, requiredField } from '../../../kube/status/field-error.ts'
import { checkNotNegative } from '../checks.ts'
import { sameValue } from '../equality.ts'
import { ensureStruct, type Fields, integer, intOrText, struct, text, textMap } from '../fields.ts'
import { checkLabelSelector, isEmptySelector, selectorMatches } from '../label-selector.ts'
import { checkRunningTemplate } from '../pods/pod-template.ts'
import type { KindRules } from '../rules.ts'
import { checkSelectorUpdate } from './deployment.ts'
import { amountOf, checkAtMostHundredPercent, checkIntOrPercent, shownRollingUpdate } from './int-or-percent.ts'
import { checkCollisionCount } from './replica-status.ts'

/** How often the template changed, kept as an annotation since the field for it is gone. */
const templateGenerationAnnotation = 'deprecated.daemonset.template.generation'

const counters = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
]

export const DAEMON_SET_RULES: KindRules = {
  generationOf: ['spec'],
  prepareForCreate: (object) => setTemplateGeneration(object, Math.max(1, templateGeneration(object))),
  prepareForUpdate(object, old) {
    const changed = !sameValue(struct(object, 'spec')?.['template'], struct(old, 'spec')?.['template'])
    setTemplateGeneration(object, templateGeneration(old) + (changed ? 1 : 0))
  },
  check: checkDaemonSet,
  checkUpdate: (object, old) => [...checkSelectorUpdate(object, old), ...checkDaemonSet(object)],
  checkStatusUpdate: (object, old) => [
    ...counters.flatMap((name) => checkNotNegative(integer(struct(object, 'status'), name), `status.${name}`)),
    ...checkCollisionCount(object, old),
  ],
}

function templateGeneration(object: Fields): number {
  return Number(textMap(struct(object, 'metadata'), 'annotations')[templateGenerationAnnotation] ?? 0) || 0
}

function setTemplateGeneration(object: Fields, generation: number): void {
  ensureStruct(ensureStruct(object, 'metadata'), 'annotations')[templateGenerationAnnotation] = String(generation)
}

function checkDaemonSet(object: Fields): FieldError[] {
  const spec = struct(object, 'spec') ?? {}
  const selector = struct(spec, 'selector')
  const template = struct(spec, 'template') ?? {}
  const labels = struct(template, 'metadata')?.['labels'] ?? null
  const errors = checkLabelSelector(selector, 'spec.selector')
  if (errors.length === 0 && !selectorMatches(selector, textMap(struct(template, 'metadata'), 'labels'))) {
    const detail = '`selector` does not match template `labels`'
    errors.push(invalidField('spec.template.metadata.labels', labels, detail))
  }
  if (selector !== undefined && isEmptySelector(selector)) {
    errors.push(invalidField('spec.selector', selector, 'empty selector is invalid for daemonset'))
  }
  return [
    ...errors,
    ...checkRunningTemplate(template, 'spec.template', 'DaemonSet'),
    ...checkNotNegative(integer(spec, 'minReadySeconds'), 'spec.minReadySeconds'),
    ...checkUpdateStrategy(struct(spec, 'updateStrategy') ?? {}, 'spec.updateStrategy'),
    ...checkNotNegative(integer(spec, 'revisionHistoryLimit'), 'spec.revisionHistoryLimit'),
  ]
}

function checkUpdateStrategy(strategy: Fields, path: string): FieldError[] {
  const type = text(strategy, 'type')
  if (type === 'OnDelete') return []
  if (type !== 'RollingUpdate') {
    const shown = { Type: type, RollingUpdate: shownRollingUpdate(strategy) }
    return [notSupportedField(path, shown, ['RollingUpdate', 'OnDelete'])]
  }
  const rollingUpdate = struct(strategy, 'rollingUpdate')
  const maxUnavailable = intOrText(rollingUpdate, 'maxUnavailable') ?? 0
  const maxSurge = intOrText(rollingUpdate, 'maxSurge') ?? 0
  const [unavailableAt, surgeAt] = [`${path}.rollingUpdate.maxUnavailable`, `${path}.rollingUpdate.maxSurge`]
  const errors = [
    ...checkIntOrPercent(maxUnavailable, unavailableAt),
    ...checkIntOrPercent(maxSurge, surgeAt),
    ...checkAtMostHundredPercent(maxUnavailable, unavailableAt),
    ...checkAtMostHundredPercent(maxSurge, surgeAt),
  ]
  if (amountOf(maxUnavailable) !== 0 && amountOf(maxSurge) !== 0) {
    errors.push(invalidField(surgeAt, maxSurge, 'may not be set when maxUnavailable is non-zero'))
  } else if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0) {
    errors.push(requiredField(unavailableAt, 'cannot be 0 when maxSurge is 0'))
  }
  return errors
}
