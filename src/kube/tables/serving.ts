/** What the API server itself is configured with: aggregated APIs, fairness, storage versions; and its Status answers. */
import type { KubeObject } from '../objects.ts'
import { firstFew, NONE, qualified, textColumn, UNSET } from './common-cells.ts'
import { AGE_COLUMN, type Cell, type Column, column, layout, NAME_COLUMN, nameOf, type TableLayout } from './layout.ts'
import { at, conditionAt, hasTrueCondition, integerAt, listAt, textAt } from './paths.ts'

const shownStorageVersions = 3

const apiService = layout([
  NAME_COLUMN,
  column('Service', 'What serves it; Local is this server.', servedBy),
  column('Available', 'Whether it can be asked.', availability),
  AGE_COLUMN,
])

function servedBy(object: KubeObject): Cell {
  const service = at(object, 'spec', 'service')
  return service === undefined ? 'Local' : `${textAt(service, 'namespace')}/${textAt(service, 'name')}`
}

function availability(object: KubeObject): Cell {
  const condition = conditionAt(object, 'Available')
  const [status, reason] = [textAt(condition, 'status'), textAt(condition, 'reason')]
  if (condition === undefined) return 'Unknown'
  return status === 'True' || reason === '' ? status : `${status} (${reason})`
}

const flowSchema = layout(
  [
    NAME_COLUMN,
    textColumn('PriorityLevel', 'Level of the requests it matches.', ['spec', 'priorityLevelConfiguration', 'name']),
    column('MatchingPrecedence', 'Lower is tried first.', precedence),
    textColumn('DistinguisherMethod', 'What keeps flows apart.', ['spec', 'distinguisherMethod', 'type'], NONE),
    AGE_COLUMN,
    column('MissingPL', 'Whether the level is missing.', danglingReference),
  ],
  { order: byPrecedence },
)

function precedence(object: KubeObject): number {
  return integerAt(object, 'spec', 'matchingPrecedence')
}

/** In the order in which they are tried. */
function byPrecedence(left: KubeObject, right: KubeObject): number {
  return precedence(left) - precedence(right) || (nameOf(left) < nameOf(right) ? -1 : 1)
}

function danglingReference(object: KubeObject): Cell {
  const condition = conditionAt(object, 'Dangling')
  return condition === undefined ? '?' : textAt(condition, 'status')
}

/** Exempt levels have no such figures. */
function shareColumn(name: string, description: string, ...path: readonly string[]): Column {
  return column(name, description, (object) => {
    const parent = at(object, 'spec', 'limited', ...path.slice(0, -1))
    return parent === undefined ? NONE : integerAt(parent, ...path.slice(-1))
  })
}

const priorityLevel = layout([
  NAME_COLUMN,
  textColumn('Type', 'Limited or Exempt.', ['spec', 'type']),
  shareColumn('NominalConcurrencyShares', 'Its part of the seats.', 'nominalConcurrencyShares'),
  shareColumn('Queues', 'How many queues it has.', 'limitResponse', 'queuing', 'queues'),
  shareColumn('HandSize', 'How many queues a flow may use.', 'limitResponse', 'queuing', 'handSize'),
  shareColumn(
    'QueueLengthLimit',
    'How many requests may wait in a queue.',
    'limitResponse',
    'queuing',
    'queueLengthLimit',
  ),
  AGE_COLUMN,
])

const storageVersion = layout([
  NAME_COLUMN,
  textColumn('CommonEncodingVersion', 'Version that all servers write.', ['status', 'commonEncodingVersion'], UNSET),
  column('StorageVersions', 'Version that each server writes.', versionsByServer),
  AGE_COLUMN,
])

function versionsByServer(object: KubeObject): Cell {
  const versions = listAt(object, 'status', 'storageVersions').map(
    (version) => `${textAt(version, 'apiServerID')}=${textAt(version, 'encodingVersion')}`,
  )
  return firstFew(versions, shownStorageVersions) || UNSET
}

const storageVersionMigration = layout([
  column('Name', 'Unique in the cluster.', nameOf),
  column('Resource', 'What is written anew.', (object) =>
    qualified(textAt(object, 'spec', 'resource', 'resource'), textAt(object, 'spec', 'resource', 'group')),
  ),
  column('Status', 'How far it has come.', migrationStatus),
])

/** The last one that holds: conditions are listed in the order in which they came. */
function migrationStatus(object: KubeObject): Cell {
  const types = listAt(object, 'status', 'conditions').map((condition) => textAt(condition, 'type'))
  const known = types.filter((type) => ['Running', 'Failed', 'Succeeded'].includes(type))
  return known.findLast((type) => hasTrueCondition(object, type)) ?? 'Unknown'
}

export const SERVING_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  'APIService.apiregistration.k8s.io': apiService,
  'FlowSchema.flowcontrol.apiserver.k8s.io': flowSchema,
  'PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io': priorityLevel,
  'StorageVersion.internal.apiserver.k8s.io': storageVersion,
  'StorageVersionMigration.storagemigration.k8s.io': storageVersionMigration,
  Status: layout([
    textColumn('Status', 'Success or Failure.', ['status']),
    textColumn('Reason', 'Why, in one word.', ['reason']),
    textColumn('Message', 'Why, in a sentence.', ['message']),
  ]),
}
