/**
 * The sentences of `kubectl explain`. Kubernetes' own descriptions are not ours to copy, and a field without any prints as
 * "<no description>": so every field says what the tables know about it, in a few words.
 */
import type { ResourceRow } from '../../kube/schema/catalogue.ts'
import type { FieldType } from '../../kube/schema/schema.ts'

/** Fields that mean the same in every type that has them. */
const commonFields: Readonly<Record<string, string>> = {
  apiVersion: 'Group and version of the kind.',
  kind: 'Name of the kind.',
  metadata: 'Name, namespace, labels, annotations, and what the server keeps about the object.',
  spec: 'What is wanted.',
  status: 'What was last observed.',
  items: 'The objects of the list.',
  labels: 'Keys and values by which objects are selected.',
  annotations: 'Keys and values for programs and people; nothing selects by them.',
  resourceVersion: 'Changes with every change of the object; only equality and order mean something.',
  uid: 'Tells this object from every other one that ever had its name.',
  creationTimestamp: 'When the object was created.',
  deletionTimestamp: 'When the object was or will be deleted; it is on its way out as soon as this is set.',
  generation: 'Counts the changes of what is wanted.',
  observedGeneration: 'The generation that the status speaks of.',
  finalizers: 'Who has to act before the object may vanish.',
  ownerReferences: 'The objects that this one belongs to; it goes when they have gone.',
  managedFields: 'Who set which fields.',
  generateName: 'Beginning of a name that the server completes.',
  namespace: 'Name of a namespace.',
  name: 'Name.',
  selector: 'Which objects are meant.',
  template: 'What new objects are made from.',
  replicas: 'Number of copies.',
  conditions: 'Observations by type, each with its status and the time of its last change.',
  lastTransitionTime: 'When the status of the condition last changed.',
  reason: 'One word for programs.',
  message: 'A sentence for people.',
}

const wordStart = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/

export function fieldDescription(field: FieldType): string {
  const known = Object.hasOwn(commonFields, field.jsonName) ? commonFields[field.jsonName] : undefined
  return [known ?? `${inWords(field.jsonName)}.`, ...factsOf(field)].join(' ')
}

export function typeMetaDescription(jsonName: 'apiVersion' | 'kind'): string {
  return commonFields[jsonName] ?? ''
}

/** For instance `PodSpec of core/v1.` */
export function typeDescription(messageName: string): string {
  return `${nameAndHome(messageName)}.`
}

/** What discovery knows of the resource, for the kind at the top of `kubectl explain`. */
export function kindDescription(messageName: string, row: ResourceRow): string {
  const scope = row.namespaced ? 'namespaced' : 'not namespaced'
  const short = row.shortNames === undefined ? '' : `, short ${row.shortNames.join(', ')}`
  return `${nameAndHome(messageName)}: resource ${row.resource}${short}, ${scope}.`
}

function nameAndHome(messageName: string): string {
  const [name, version, group] = messageName.split('.').reverse()
  return `${name} of ${group}/${version}`
}

function factsOf({ facts, shape }: FieldType): string[] {
  const sentences: string[] = []
  if (facts.listType === 'map') sentences.push(`Items are told apart by ${(facts.mapKeys ?? []).join(' and ')}.`)
  if (facts.listType === 'set') sentences.push('No item stands twice.')
  if (facts.listType === 'atomic' && facts.patchStrategy === undefined) sentences.push('Changes as a whole.')
  if (shape === 'map' && facts.mapType === 'atomic') sentences.push('Changes as a whole.')
  if (isScalar(facts.default)) sentences.push(`Default: ${facts.default}.`)
  return sentences
}

function isScalar(value: unknown): value is string | number | boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'boolean'
}

/** `activeDeadlineSeconds` becomes `Active deadline seconds`, abbreviations stay as they are: `Host IP`. */
function inWords(name: string): string {
  const words = name.split(wordStart).map((word, index) => {
    if (index === 0) return word.charAt(0).toUpperCase() + word.slice(1)
    return /^[A-Z][a-z]/.test(word) ? word.charAt(0).toLowerCase() + word.slice(1) : word
  })
  return words.join(' ')
}
