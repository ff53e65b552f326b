/** Events of every age, in the old and in the new form. */
import { object } from '../codec-fixtures.ts'
import { type Ago, day, hour, minute, second, type TableFixture } from './parts.ts'

const year = 365 * day

/** On both sides of every border between two ways to write an age, and some that lie in the future. */
const agesMs: readonly number[] = [
  ...[-10, -5, 1, 50, 60, 100, 119, 120, 121, 125].map((count) => count * second),
  ...[3, 5, 9, 10, 11, 60, 179, 180, 181].map((count) => count * minute),
  5 * minute + 30 * second,
  10 * minute - second,
  ...[3.5, 7, 8, 8.5, 24, 47, 48, 49, 72, 73].map((count) => count * hour),
  ...[7.5, 8, 9, 100, 364, 365, 366, 729, 730, 731].map((count) => count * day),
  ...[2, 3, 7.9, 8, 9, 20].map((count) => count * year),
]

export function eventFixtures(ago: Ago): TableFixture[] {
  const involvedObject = { kind: 'Pod', namespace: 'default', name: 'table-pending', fieldPath: 'spec.containers{web}' }
  const event = (name: string, rest: object): TableFixture => ({
    object: object('v1', 'Event', `table-${name}`, {
      metadata: { name: `table-${name}`, namespace: 'default' },
      involvedObject,
      reason: 'Seen',
      type: 'Normal',
      ...rest,
    }),
  })
  const reporting = { reportingComponent: 'example.com/r', reportingInstance: 'r-1', action: 'Look' }
  return [
    ...agesMs.map((ms, index) =>
      event(`age-${index}`, { firstTimestamp: ago(ms + day), lastTimestamp: ago(ms), count: index }),
    ),
    event('source', {
      message: ' padded \n',
      source: { component: 'kubelet', host: 'node-1' },
      firstTimestamp: ago(hour),
      type: 'Warning',
    }),
    event('new', { ...reporting, eventTime: ago(hour).replace('Z', '.000000Z'), message: 'once' }),
    event('series', {
      ...reporting,
      eventTime: ago(hour).replace('Z', '.000000Z'),
      series: { count: 40, lastObservedTime: ago(minute).replace('Z', '.000000Z') },
    }),
    event('no-name', { involvedObject: { kind: 'Pod', namespace: 'default' } }),
  ]
}
