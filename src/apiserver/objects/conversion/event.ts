/** Events: the same facts under two sets of names. */
import type { KubeObject } from '../../../kube/objects.ts'

/** From core/v1 to events.k8s.io/v1; fields that are not here have one name. */
const names: readonly (readonly [core: string, eventsGroup: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
]

const toEventsGroup = new Map(names)
const toCore = new Map(names.map(([core, eventsGroup]) => [eventsGroup, core]))

export function eventToEventsGroup(event: KubeObject): KubeObject {
  return renamed(event, toEventsGroup)
}

export function eventToCore(event: KubeObject): KubeObject {
  return renamed(event, toCore)
}

function renamed(event: KubeObject, to: ReadonlyMap<string, string>): KubeObject {
  return Object.fromEntries(Object.entries(event).map(([name, value]) => [to.get(name) ?? name, value]))
}
