/** The fields, besides name and namespace, that collections can be selected by. */
import type { KubeObject } from '../objects.ts'
import { JsonScanner } from '../walker/json-scanner.ts'

type FieldReader = (object: KubeObject) => unknown

/** Follows a path of plain names; lists have no place in it. */
function at(path: string): FieldReader {
  const steps = path.split('.')
  return (object) =>
    steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | null | undefined)?.[step], object)
}

function paths(...names: string[]): Readonly<Record<string, FieldReader>> {
  return Object.fromEntries(names.map((name) => [name, at(name)]))
}

/** An Event's source is its component, whichever of the two fields names it. */
const eventSource: FieldReader = (event) =>
  at('source.component')(event) || at('reportingComponent')(event) || at('reportingController')(event)

const involvedObject = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']

const byKind: Readonly<Record<string, Readonly<Record<string, FieldReader>>>> = {
  Pod: {
    ...paths('spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName'),
    ...paths('status.phase', 'status.podIP', 'status.nominatedNodeName'),
    'spec.hostNetwork': (pod) => at('spec.hostNetwork')(pod) === true,
    'status.podIPs': at('status.podIP'),
  },
  Node: { 'spec.unschedulable': (node) => at('spec.unschedulable')(node) === true },
  Secret: paths('type'),
  Namespace: { ...paths('status.phase'), name: at('metadata.name') },
  Service: paths('spec.clusterIP', 'spec.type'),
  ReplicationController: { 'status.replicas': (controller) => at('status.replicas')(controller) ?? 0 },
  ReplicaSet: { 'status.replicas': (set) => at('status.replicas')(set) ?? 0 },
  Job: { 'status.successful': (job) => at('status.succeeded')(job) ?? 0 },
  CertificateSigningRequest: paths('spec.signerName'),
  Event: {
    ...paths('reason', 'type', 'reportingComponent'),
    ...Object.fromEntries(involvedObject.map((name) => [`involvedObject.${name}`, at(`involvedObject.${name}`)])),
    source: eventSource,
  },
}

/** The names that a kind adds. */
export function selectableFields(kind: string): readonly string[] {
  return Object.keys(byKind[kind] ?? {})
}

/** What the readers above look at besides the fields that are named after it. */
const furtherPaths = [
  'metadata.name',
  'metadata.namespace',
  'source.component',
  'reportingController',
  'status.succeeded',
]

/** As much of an object as its selectable fields need: each is text, and lies near the top. What is large is passed over. */
export function readSelectable(kind: string, json: Buffer): KubeObject {
  const paths = [...furtherPaths, ...selectableFields(kind)].map((path) => path.split('.'))
  return readPaths(new JsonScanner(json), paths)
}

function readPaths(scanner: JsonScanner, paths: readonly (readonly string[])[]): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  const first = [...new Set(paths.map(([step = '']) => step))].map((step) => [step, Buffer.from(step)] as const)
  for (let more = scanner.firstMember(); more; more = scanner.nextMember()) {
    const step = first.find(([, bytes]) => scanner.keyIs(bytes))?.[0]
    const deeper = paths.filter((path) => path[0] === step && path.length > 1).map((path) => path.slice(1))
    if (step === undefined) scanner.skipValue()
    else found[step] = deeper.length > 0 && scanner.isAtObject ? readPaths(scanner, deeper) : scanner.readValue()
  }
  return found
}

/** The value of a selectable field as selectors compare it. */
export function selectableValue(kind: string, object: KubeObject, field: string): string {
  if (field === 'metadata.name') return object.metadata?.name ?? ''
  if (field === 'metadata.namespace') return object.metadata?.namespace ?? ''
  const value = byKind[kind]?.[field]?.(object)
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
