/** Events, in the shape of the core group or of events.k8s.io: the same objects with other names for the same fields. */
import type { KubeObject } from '../objects.ts'
import { humanAge } from './human-duration.ts'
import { column, identifying, layoutOf, nameOf, type TableLayout, wideColumn } from './layout.ts'
import { at, integerAt, textAt, timeMsAt } from './paths.ts'

interface EventView {
  readonly event: KubeObject
  /** What the event is about. */
  readonly target: unknown
  readonly source: string
  readonly message: string
  readonly firstSeenMs: number | undefined
  readonly lastSeenMs: number | undefined
  readonly count: number
}

/** Left the field of events.k8s.io, right the one of the core group. */
function readEvent(event: KubeObject): EventView {
  const source = at(event, 'deprecatedSource') ?? at(event, 'source')
  const first = timeMsAt(event, 'deprecatedFirstTimestamp') ?? timeMsAt(event, 'firstTimestamp')
  const last = timeMsAt(event, 'deprecatedLastTimestamp') ?? timeMsAt(event, 'lastTimestamp')
  const series = at(event, 'series')
  const firstSeenMs = first ?? timeMsAt(event, 'eventTime')
  const count = integerAt(event, 'deprecatedCount') || integerAt(event, 'count')
  return {
    event,
    target: at(event, 'regarding') ?? at(event, 'involvedObject'),
    source: eventSource(event, source),
    message: (textAt(event, 'note') || textAt(event, 'message')).trim(),
    firstSeenMs,
    lastSeenMs: series === undefined ? (last ?? firstSeenMs) : timeMsAt(series, 'lastObservedTime'),
    count: series === undefined ? count || 1 : integerAt(series, 'count'),
  }
}

function eventSource(event: KubeObject, source: unknown): string {
  const controller = textAt(event, 'reportingController') || textAt(event, 'reportingComponent')
  const component = textAt(source, 'component') || controller
  const instance = textAt(source, 'host') || textAt(event, 'reportingInstance')
  return instance === '' ? component : `${component}, ${instance}`
}

function targetCell({ target }: EventView): string {
  const kind = textAt(target, 'kind').toLowerCase()
  const name = textAt(target, 'name')
  return name === '' ? kind : `${kind}/${name}`
}

const event = layoutOf(readEvent, [
  column('Last Seen', 'Time since it last happened.', ({ lastSeenMs }, nowMs) => humanAge(lastSeenMs, nowMs)),
  column('Type', 'Normal or Warning.', ({ event }) => textAt(event, 'type')),
  column('Reason', 'What happened, in one word.', ({ event }) => textAt(event, 'reason')),
  column('Object', 'What it is about.', targetCell),
  wideColumn('Subobject', 'Which part of it.', ({ target }) => textAt(target, 'fieldPath')),
  wideColumn('Source', 'Who reports it.', ({ source }) => source),
  column('Message', 'What happened, in a sentence.', ({ message }) => message),
  wideColumn('First Seen', 'Time since it first happened.', ({ firstSeenMs }, nowMs) => humanAge(firstSeenMs, nowMs)),
  wideColumn('Count', 'How often it happened.', ({ count }) => count),
  identifying(wideColumn('Name', 'Unique in its namespace.', ({ event }) => nameOf(event))),
])

export const EVENT_LAYOUTS: Readonly<Record<string, TableLayout>> = { Event: event, 'Event.events.k8s.io': event }
