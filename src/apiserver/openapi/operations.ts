/** What can be done with a resource: one operation for each verb, in the words of OpenAPI. */
import type { ResourceRow } from '../../kube/schema/catalogue.ts'
import { findKind } from '../../kube/schema/schema.ts'
import { deleteAnswersWithObject } from './delete-answer.ts'
import { capitalized, groupVersionTag, groupVersionTitle, reference } from './names.ts'
import type { Content, GroupVersionKind, Method, Operation, Parameter, Response, Schema } from './openapi.ts'
import { optionParameters, PRETTY } from './parameters.ts'
import { PATCH_TYPE } from './type-facts.ts'

/** Where an operation stands, and what it works on. */
export interface Subject {
  /** Of the document. */
  readonly group: string
  readonly version: string
  readonly row: ResourceRow
  /** Of what is sent and answered; a subresource may have another kind than its resource. */
  readonly kind: GroupVersionKind
  /** The end of the operation's name, such as `NamespacedDeploymentScale`. */
  readonly title: string
  readonly description: string
}

export interface OperationWithTypes {
  readonly operation: Operation
  /** Full names of the messages that it names. */
  readonly types: readonly string[]
}

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1'
const statusType = `${meta}.Status`
const deleteOptionsType = `${meta}.DeleteOptions`
const watchEventType = `${meta}.WatchEvent`

export const OBJECT_MEDIA_TYPES = [
  'application/json',
  'application/vnd.kubernetes.protobuf',
  'application/yaml',
] as const
const listMediaTypes = [
  'application/json',
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf',
  'application/vnd.kubernetes.protobuf;stream=watch',
  'application/yaml',
]
const patchMediaTypes = [
  'application/apply-patch+yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
]
const anyMediaType = ['*/*']
const phrases: Readonly<Record<number, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' }
export const UNAUTHORIZED: Response = { description: 'Unauthorized' }
const text: Schema = { type: 'string' }

export function getOperation(subject: Subject): OperationWithTypes {
  const type = typeOfKind(subject.kind)
  return build(subject, 'read', 'get', [PRETTY], { 200: content(OBJECT_MEDIA_TYPES, reference(type)) }, [type])
}

export function listOperation(subject: Subject): OperationWithTypes {
  const type = `${typeOfKind(subject.kind)}List`
  const parameters = [...optionParameters('ListOptions'), PRETTY]
  return build(subject, 'list', 'list', parameters, { 200: content(listMediaTypes, reference(type)) }, [type])
}

/** The paths below `/watch`, of one object or of a collection: older than the `watch` parameter of a list. */
export function watchOperation(subject: Subject, action: 'watch' | 'watchlist'): OperationWithTypes {
  const parameters = [...optionParameters('ListOptions'), PRETTY]
  const answers = { 200: content(listMediaTypes, reference(watchEventType)) }
  return build(subject, 'watch', action, parameters, answers, [watchEventType])
}

export function createOperation(subject: Subject): OperationWithTypes {
  const type = typeOfKind(subject.kind)
  const parameters = [...optionParameters('CreateOptions'), PRETTY]
  const built = build(subject, 'create', 'post', parameters, objectAnswers(type, [200, 201, 202]), [type])
  return withBody(built, content(anyMediaType, reference(type)))
}

export function replaceOperation(subject: Subject): OperationWithTypes {
  const type = typeOfKind(subject.kind)
  const parameters = [...optionParameters('UpdateOptions'), PRETTY]
  const built = build(subject, 'replace', 'put', parameters, objectAnswers(type, [200, 201]), [type])
  return withBody(built, content(anyMediaType, reference(type)))
}

export function patchOperation(subject: Subject): OperationWithTypes {
  const type = typeOfKind(subject.kind)
  const parameters = [...optionParameters('PatchOptions'), PRETTY]
  const built = build(subject, 'patch', 'patch', parameters, objectAnswers(type, [200, 201]), [type, PATCH_TYPE])
  return withBody(built, content(patchMediaTypes, reference(PATCH_TYPE)))
}

export function deleteOperation(subject: Subject): OperationWithTypes {
  const own = deleteAnswersWithObject(subject.group, subject.row.resource)
  const type = own ? typeOfKind(subject.kind) : statusType
  const parameters = [...optionParameters('DeleteOptions'), PRETTY]
  const types = [type, deleteOptionsType]
  const built = build(subject, 'delete', 'delete', parameters, objectAnswers(type, [200, 202]), types)
  return withOptionalBody(built, content(anyMediaType, reference(deleteOptionsType)))
}

export function deleteCollectionOperation(subject: Subject): OperationWithTypes {
  const listing = optionParameters('ListOptions').filter(({ name }) => !['allowWatchBookmarks', 'watch'].includes(name))
  const parameters = [...listing, ...optionParameters('DeleteOptions'), PRETTY]
  const types = [statusType, deleteOptionsType]
  const collection = { ...subject, title: `Collection${subject.title}` }
  const built = build(collection, 'delete', 'deletecollection', parameters, objectAnswers(statusType, [200]), types)
  return withOptionalBody(built, content(anyMediaType, reference(deleteOptionsType)))
}

/** Streams of bytes: exec, attach, portforward, proxy. */
export function connectOperation(subject: Subject, method: Method): OperationWithTypes {
  const named = { ...subject, title: capitalized(method) + subject.title }
  const parameters = optionParameters(subject.kind.kind)
  return build(named, 'connect', 'connect', parameters, { 200: content(anyMediaType, text) }, [])
}

export function logOperation(subject: Subject): OperationWithTypes {
  const parameters = [...optionParameters('PodLogOptions'), PRETTY]
  const answers = { 200: content([...OBJECT_MEDIA_TYPES, 'text/plain'], text) }
  return build(subject, 'read', 'get', parameters, answers, [])
}

function build(
  subject: Subject,
  verb: string,
  action: string,
  parameters: readonly Parameter[],
  answers: Record<number, Content>,
  types: readonly string[],
): OperationWithTypes {
  const { group, version, kind, title, description } = subject
  const responses = Object.entries(answers).map(([code, body]) => [
    code,
    { description: phrases[Number(code)] ?? '', content: body },
  ])
  const operation: Operation = {
    tags: [groupVersionTag(group, version)],
    description: `${action}: ${description}`,
    operationId: `${verb}${groupVersionTitle(group, version)}${title}`,
    parameters,
    responses: { ...Object.fromEntries(responses), 401: UNAUTHORIZED },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': kind,
  }
  return { operation, types }
}

function withBody({ operation, types }: OperationWithTypes, body: Content): OperationWithTypes {
  return { operation: { ...operation, requestBody: { content: body, required: true } }, types }
}

function withOptionalBody({ operation, types }: OperationWithTypes, body: Content): OperationWithTypes {
  return { operation: { ...operation, requestBody: { content: body } }, types }
}

function objectAnswers(type: string, codes: readonly number[]): Record<number, Content> {
  return Object.fromEntries(codes.map((code) => [code, content(OBJECT_MEDIA_TYPES, reference(type))]))
}

export function content(mediaTypes: readonly string[], schema: Schema): Content {
  return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }]))
}

function typeOfKind({ group, version, kind }: GroupVersionKind): string {
  const found = findKind(group === '' ? version : `${group}/${version}`, kind)
  if (found === undefined)
    throw new Error(`the catalogue names a kind that the schema has not: ${group}/${version} ${kind}`)
  return found.message.fullName
}
