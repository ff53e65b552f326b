/** What pods are configured and limited with: config maps, secrets, accounts, quotas, priorities. */
import type { KubeObject } from '../objects.ts'
import { textColumn } from './common-cells.ts'
import { AGE_COLUMN, type Cell, column, layout, NAME_COLUMN, type TableLayout } from './layout.ts'
import { flagAt, integerAt, mapAt, quantityAt } from './paths.ts'

function entries(object: KubeObject, ...fields: readonly string[]): Cell {
  return fields.reduce((total, field) => total + Object.keys(mapAt(object, field)).length, 0)
}

/** Used and allowed amount of each resource. Limits have a column of their own; what is not a limit is a request. */
function quotaCell(object: KubeObject, limits: boolean): Cell {
  return Object.keys(mapAt(object, 'status', 'hard'))
    .filter((resource) => resource.startsWith('limits.') === limits)
    .toSorted()
    .map((resource) => {
      const used = quantityAt(object, 'status', 'used', resource) ?? '0'
      return `${resource}: ${used}/${quantityAt(object, 'status', 'hard', resource) ?? '0'}`
    })
    .join(', ')
}

export const CONFIGURATION_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  ConfigMap: layout([
    NAME_COLUMN,
    column('Data', 'How many entries it has.', (object) => entries(object, 'data', 'binaryData')),
    AGE_COLUMN,
  ]),
  Secret: layout([
    NAME_COLUMN,
    textColumn('Type', 'What it is used for.', ['type']),
    column('Data', 'How many entries it has.', (object) => entries(object, 'data')),
    AGE_COLUMN,
  ]),
  ServiceAccount: layout([NAME_COLUMN, AGE_COLUMN]),
  ResourceQuota: layout([
    NAME_COLUMN,
    column('Request', 'Used and allowed, of everything but limits.', (object) => quotaCell(object, false)),
    column('Limit', 'Used and allowed limits.', (object) => quotaCell(object, true)),
    AGE_COLUMN,
  ]),
  'PriorityClass.scheduling.k8s.io': layout([
    NAME_COLUMN,
    column('Value', 'Higher goes first.', (object) => integerAt(object, 'value'), 'integer'),
    column(
      'Global-Default',
      'Whether pods without a class get it.',
      (object) => flagAt(object, 'globalDefault'),
      'boolean',
    ),
    AGE_COLUMN,
    textColumn('PreemptionPolicy', 'Whether it pushes others out.', ['preemptionPolicy']),
  ]),
}
