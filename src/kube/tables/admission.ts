/** Admission webhooks and policies. */
import type { KubeObject } from '../objects.ts'
import { textColumn, UNSET } from './common-cells.ts'
import { AGE_COLUMN, type Cell, type Column, column, layout, NAME_COLUMN, type TableLayout } from './layout.ts'
import { at, listAt, mapAt, textAt, textsAt } from './paths.ts'

function lengthColumn(name: string, description: string, ...path: readonly string[]): Column {
  return column(name, description, (object) => listAt(object, ...path).length, 'integer')
}

const webhooks = layout([NAME_COLUMN, lengthColumn('Webhooks', 'How many it registers.', 'webhooks'), AGE_COLUMN])

const paramKindColumn = column('ParamKind', 'Kind of its parameters.', (object) => {
  const kind = at(object, 'spec', 'paramKind')
  return kind === undefined ? UNSET : `${textAt(kind, 'apiVersion')}/${textAt(kind, 'kind')}`
})

function policy(name: string, description: string, field: string): TableLayout {
  return layout([NAME_COLUMN, lengthColumn(name, description, 'spec', field), paramKindColumn, AGE_COLUMN])
}

const policyBinding = layout([
  NAME_COLUMN,
  textColumn('PolicyName', 'Policy that it puts into force.', ['spec', 'policyName']),
  column('ParamRef', 'Parameters it is evaluated with.', parameterReference),
  AGE_COLUMN,
])

/** Whether parameters have namespaces cannot be told here: one without is shown with a star. */
function parameterReference(object: KubeObject): Cell {
  const reference = at(object, 'spec', 'paramRef')
  const name = textAt(reference, 'name')
  if (name !== '') return `${textAt(reference, 'namespace') || '*'}/${name}`
  const selector = at(reference, 'selector')
  return selector === undefined ? UNSET : goSelector(selector)
}

/** A selector as Go prints the struct: this is what API servers put into the cell. */
function goSelector(selector: unknown): string {
  const labels = Object.entries(mapAt(selector, 'matchLabels'))
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, value]) => `${key}: ${String(value)},`)
  const expressions = listAt(selector, 'matchExpressions').map((expression) => {
    const values = textsAt(expression, 'values').join(' ')
    const [key, operator] = [textAt(expression, 'key'), textAt(expression, 'operator')]
    return `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values}],},`
  })
  const parts = [
    `MatchLabels:map[string]string{${labels.join('')}}`,
    `MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}}`,
  ]
  return `&LabelSelector{${parts.join(',')},}`
}

export const ADMISSION_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  'MutatingWebhookConfiguration.admissionregistration.k8s.io': webhooks,
  'ValidatingWebhookConfiguration.admissionregistration.k8s.io': webhooks,
  'ValidatingAdmissionPolicy.admissionregistration.k8s.io': policy(
    'Validations',
    'How many rules it has.',
    'validations',
  ),
  'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io': policyBinding,
  'MutatingAdmissionPolicy.admissionregistration.k8s.io': policy(
    'Mutations',
    'How many changes it makes.',
    'mutations',
  ),
  'MutatingAdmissionPolicyBinding.admissionregistration.k8s.io': policyBinding,
}
