/** Path and query parameters. Query parameters are the fields of the options message that the API server reads them into. */
import { messageType, type ScalarType } from '../../kube/schema/schema.ts'
import type { Parameter, Schema } from './openapi.ts'

const metaPackage = 'k8s.io.apimachinery.pkg.apis.meta.v1'
const corePackage = 'k8s.io.api.core.v1'

const parameterTypes: Readonly<Record<ScalarType, NonNullable<Schema['type']>>> = {
  string: 'string',
  bool: 'boolean',
  int32: 'integer',
  int64: 'integer',
  double: 'number',
  bytes: 'string',
}

const descriptions: Readonly<Record<string, string>> = {
  allowWatchBookmarks: 'Whether a watch may contain bookmarks.',
  continue: 'Where the page before this one ended.',
  dryRun: 'With "All" everything happens except that something is stored.',
  fieldManager: 'Who is making this change.',
  fieldSelector: 'Only objects whose fields match.',
  fieldValidation: 'What happens to unknown and repeated fields: Ignore, Warn or Strict.',
  force: 'Whether an apply takes over fields that others manage.',
  gracePeriodSeconds: 'How long the object has to end by itself.',
  labelSelector: 'Only objects whose labels match.',
  limit: 'How many objects a page has at most.',
  orphanDependents: 'Whether dependent objects stay; propagationPolicy has replaced it.',
  pretty: 'Whether the answer is indented.',
  propagationPolicy: 'What happens to dependent objects: Orphan, Background or Foreground.',
  resourceVersion: 'From which version on the data may be.',
  resourceVersionMatch: 'How exactly resourceVersion is meant.',
  sendInitialEvents: 'Whether a watch begins with the objects that exist.',
  timeoutSeconds: 'How long a list or a watch may take.',
  watch: 'Whether changes are sent as they happen.',
  name: 'Name of the object.',
  namespace: 'Name of the namespace.',
  path: 'Path of the request behind the proxy.',
}

const kept = new Map<string, readonly Parameter[]>()

export const PRETTY = queryParameter('pretty', 'string')

/** The options that a request of this kind may carry in its query; fields that are no plain values cannot stand there. */
export function optionParameters(optionsKind: string): readonly Parameter[] {
  let parameters = kept.get(optionsKind)
  if (parameters === undefined) {
    const home = optionsKind.startsWith('Pod') || optionsKind.endsWith('ProxyOptions') ? corePackage : metaPackage
    parameters = messageType(`${home}.${optionsKind}`).fields.flatMap(({ jsonName, scalar }) =>
      scalar === undefined ? [] : [queryParameter(jsonName, parameterTypes[scalar])],
    )
    kept.set(optionsKind, parameters)
  }
  return parameters
}

export function pathParameters(path: string): Parameter[] {
  return [...path.matchAll(/\{([a-z]+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    ...described(name),
    required: true,
    schema: { type: 'string', uniqueItems: true },
  }))
}

/** By name; where a path and a query parameter share one, the path comes first. */
export function sortParameters(parameters: readonly Parameter[]): Parameter[] {
  return [...parameters].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** Parameters that all operations of a path have stand once, at the path. */
export function commonParameters(lists: readonly (readonly Parameter[])[]): Parameter[] {
  const [first = [], ...others] = lists
  return first.filter((parameter) => others.every((list) => list.some((other) => key(other) === key(parameter))))
}

export function without(parameters: readonly Parameter[], taken: readonly Parameter[]): Parameter[] {
  const keys = new Set(taken.map(key))
  return parameters.filter((parameter) => !keys.has(key(parameter)))
}

function queryParameter(name: string, type: NonNullable<Schema['type']>): Parameter {
  return { name, in: 'query', ...described(name), schema: { type, uniqueItems: true } }
}

function described(name: string): { description?: string } {
  const description = Object.hasOwn(descriptions, name) ? descriptions[name] : undefined
  return description === undefined ? {} : { description }
}

function key(parameter: Parameter): string {
  return `${parameter.name} ${parameter.in}`
}
