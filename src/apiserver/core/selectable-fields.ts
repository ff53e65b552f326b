/** The fields, besides name and namespace, that collections can be selected by. */
import type { KubeObject } from '../../kube/objects.ts'

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

/** The value of a selectable field as selectors compare it. */
export function selectableValue(kind: string, object: KubeObject, field: string): string {
  if (field === 'metadata.name') return object.metadata?.name ?? ''
  if (field === 'metadata.namespace') return object.metadata?.namespace ?? ''
  const value = byKind[kind]?.[field]?.(object)
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
