/** Events, of the core API and of `events.k8s.io`. */

import type { KubeObject } from '../../../kube/objects.ts'
import { labelKeyBreaches } from '../../../kube/selectors/names.ts'
import { type FieldError, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { checkImmutable, checkName } from '../checks.ts'
import { type Fields, has, integer, isFields, struct, text } from '../fields.ts'
import { dnsSubdomain } from '../names.ts'
import type { KindRules } from '../rules.ts'

const MAX_EVENT_WORD_LENGTH = 128
const MAX_EVENT_NOTE_LENGTH = 1024

const immutableFields = [
  ['regarding', 'involvedObject'],
  ['reason', 'reason'],
  ['note', 'message'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['reason', 'reason'],
  ['type', 'type'],
  ['eventTime', 'eventTime'],
  ['action', 'action'],
  ['related', 'related'],
  ['reportingController', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
] as const

export const CORE_EVENT_RULES: KindRules = {
  name: 'any',
  allowsCreateOnUpdate: true,
  check: (event) => checkEvent(event, struct(event, 'involvedObject'), 'reportingComponent', text(event, 'message')),
}

export const EVENT_RULES: KindRules = {
  allowsCreateOnUpdate: true,
  check: (event) => [...checkNewStyle(event), ...checkSeries(event), ...checkNoOldFields(event)],
  checkUpdate: (event, old) => [
    ...checkNewStyle(event),
    ...checkSeries(event),
    ...immutableFields.flatMap(([name, shown]) =>
      checkImmutable(event[name], old[name], shown).map((error) => ({ ...error, badValue: asInternal(event[name]) })),
    ),
  ],
}

/**
 * Events that come through `events.k8s.io` are kept as those of the core API but must obey the stricter rules, which know
 * them by their new names.
 */
export const KEPT_EVENT_RULES: KindRules = {
  ...EVENT_RULES,
  check: (event) => EVENT_RULES.check?.(withNewNames(event)) ?? [],
  checkUpdate: (event, old, context) =>
    EVENT_RULES.checkUpdate?.(withNewNames(event), withNewNames(old), context) ?? [],
}

const newNames: Readonly<Record<string, string>> = {
  involvedObject: 'regarding',
  message: 'note',
  source: 'deprecatedSource',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  count: 'deprecatedCount',
  reportingComponent: 'reportingController',
}

function withNewNames(event: KubeObject): KubeObject {
  return Object.fromEntries(Object.entries(event).map(([name, value]) => [newNames[name] ?? name, value]))
}

/** References are shown with the names of their Go fields, and all of these. */
function asInternal(value: unknown): unknown {
  if (!isFields(value) || !('kind' in value || 'namespace' in value || 'name' in value)) return value ?? null
  return {
    Kind: text(value, 'kind'),
    Namespace: text(value, 'namespace'),
    Name: text(value, 'name'),
    UID: text(value, 'uid'),
    APIVersion: text(value, 'apiVersion'),
    ResourceVersion: text(value, 'resourceVersion'),
    FieldPath: text(value, 'fieldPath'),
  }
}

function checkNewStyle(event: Fields): FieldError[] {
  return checkEvent(event, struct(event, 'regarding'), 'reportingController', text(event, 'note'))
}

function checkEvent(event: Fields, about: Fields | undefined, controllerField: string, note: string): FieldError[] {
  const namespace = text(struct(event, 'metadata'), 'namespace')
  const errors = checkNamespace(event, namespace, text(about, 'namespace'))
  if (has(event, 'eventTime')) errors.push(...checkReport(event, controllerField, note))
  return [...errors, ...checkName(namespace, 'namespace', dnsSubdomain)]
}

/** An event lives where its object lives; those about objects without a namespace live in `default`. */
function checkNamespace(event: Fields, namespace: string, aboutNamespace: string): FieldError[] {
  const homes = has(event, 'eventTime') ? ['default', 'kube-system'] : ['', 'default']
  const isOld = !has(event, 'eventTime')
  const fits = aboutNamespace === '' ? homes.includes(namespace) : !isOld || aboutNamespace === namespace
  return fits ? [] : [invalidField('involvedObject.namespace', aboutNamespace, 'does not match event.namespace')]
}

function checkReport(event: Fields, controllerField: string, note: string): FieldError[] {
  const controller = text(event, controllerField)
  const words = ['reportingInstance', 'action', 'reason'].flatMap((name) => {
    const word = text(event, name)
    if (word === '') return [requiredField(name)]
    const detail = `can have at most ${MAX_EVENT_WORD_LENGTH} characters`
    return word.length > MAX_EVENT_WORD_LENGTH ? [invalidField(name, '', detail)] : []
  })
  return [
    ...(controller === '' ? [requiredField(controllerField)] : []),
    ...checkName(controller, controllerField, labelKeyBreaches),
    ...words,
    ...(note.length > MAX_EVENT_NOTE_LENGTH
      ? [invalidField('message', '', `can have at most ${MAX_EVENT_NOTE_LENGTH} characters`)]
      : []),
  ]
}

function checkSeries(event: Fields): FieldError[] {
  const series = struct(event, 'series')
  if (series === undefined) return []
  return [
    ...((integer(series, 'count') ?? 0) < 2 ? [invalidField('series.count', '', 'should be at least 2')] : []),
    ...(has(series, 'lastObservedTime') ? [] : [requiredField('series.lastObservedTime')]),
  ]
}

function checkNoOldFields(event: Fields): FieldError[] {
  const type = text(event, 'type')
  const errors = has(event, 'eventTime') ? [] : [requiredField('eventTime')]
  if (type !== 'Normal' && type !== 'Warning') errors.push(invalidField('type', '', `has invalid value: ${type}`))
  const source = struct(event, 'deprecatedSource')
  const set = {
    firstTimestamp: has(event, 'deprecatedFirstTimestamp'),
    lastTimestamp: has(event, 'deprecatedLastTimestamp'),
    count: Boolean(integer(event, 'deprecatedCount')),
    source: text(source, 'component') !== '' || text(source, 'host') !== '',
  }
  for (const [name, isSet] of Object.entries(set)) if (isSet) errors.push(invalidField(name, '', 'needs to be unset'))
  return errors
}
