/** A request body as an object of the resource it is sent to: decoded, of the right kind, with unknown fields reported. */
import { parseJson } from '../../kube/codec/json.ts'
import { decodeMessage, decodeProtobuf, encodeMessage } from '../../kube/codec/object-codec.ts'
import { negotiateBody } from '../../kube/negotiation-body.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { WireError } from '../../kube/protobuf/wire-error.ts'
import type { Encoding } from '../../kube/representation.ts'
import type { MessageType } from '../../kube/schema/schema.ts'
import { ApiError, badRequest, requestEntityTooLarge } from '../../kube/status/index.ts'
import { BodyTooLargeError } from '../../serving/exchange.ts'
import type { RequestContext } from '../chain/handler.ts'
import { isEmbeddedKind, withEmbeddedKinds } from '../kinds/embedded-kinds.ts'
import { parseYamlBody } from './decode-yaml.ts'
import { findDuplicateKeys } from './duplicate-keys.ts'

/** What an API server takes; etcd refuses objects of half the size. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024

export interface ExpectedKind {
  readonly apiVersion: string
  readonly kind: string
  readonly message: MessageType
  /** Further versions of the same shape that a body may be written in. */
  readonly alsoAccepts?: readonly string[]
}

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export async function readBodyBytes(context: RequestContext): Promise<Buffer> {
  try {
    return await context.exchange.readBody(MAX_BODY_BYTES)
  } catch (error) {
    if (error instanceof BodyTooLargeError) throw requestEntityTooLarge(`limit is ${MAX_BODY_BYTES}`)
    throw error
  }
}

export async function readObject(context: RequestContext, expected: ExpectedKind): Promise<KubeObject> {
  const encoding = negotiateBody(context.exchange.headers.get('content-type'))
  const body = await readBodyBytes(context)
  const text = encoding === 'protobuf' ? '' : body.toString('utf8')
  const object = decode(body, text, encoding, expected)
  checkType(object, expected)
  return conform(object, expected, fieldValidationOf(context), context, encoding === 'json' ? text : undefined)
}

/**
 * The object as the type has it: fields in order, zeros in place, nothing unknown. What is dropped on the way is a warning
 * or, if the client asked for strictness, an error.
 */
export function conform(
  object: KubeObject,
  expected: ExpectedKind,
  validation: FieldValidation,
  context: Pick<RequestContext, 'warnings'>,
  jsonText?: string,
): KubeObject {
  const { apiVersion, kind, message } = expected
  try {
    const { bytes, dropped } = encodeMessage(message, object)
    const names = dropped.names.filter((name) => !isEmbeddedKind(kind, name)).sort()
    const unknown = names.map((name) => `unknown field ${JSON.stringify(name)}`)
    const duplicates = jsonText === undefined || validation === 'Ignore' ? [] : findDuplicateKeys(jsonText)
    const problems = [...unknown, ...duplicates.map((name) => `duplicate field ${JSON.stringify(name)}`)]
    if (problems.length > 0) reportProblems(problems, expected, validation, context)
    // Not by spreading: objects made that way each get a shape of their own, and all later code is slower for it.
    return withEmbeddedKinds(Object.assign({ kind, apiVersion }, decodeMessage(message, bytes).value))
  } catch (error) {
    if (error instanceof WireError) throw unusable(expected, error.message)
    throw error
  }
}

export function fieldValidationOf({ query }: RequestContext): FieldValidation {
  const value = query.first('fieldValidation') ?? ''
  if (value === '') return 'Warn'
  if (value === 'Ignore' || value === 'Warn' || value === 'Strict') return value
  throw badRequest(
    `fieldValidation: Unsupported value: ${JSON.stringify(value)}: supported values: "Ignore", "Strict", "Warn"`,
  )
}

function reportProblems(
  problems: readonly string[],
  { apiVersion, kind }: ExpectedKind,
  validation: FieldValidation,
  { warnings }: Pick<RequestContext, 'warnings'>,
): void {
  if (validation === 'Warn') for (const problem of problems) warnings.add(problem)
  if (validation !== 'Strict') return
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
  throw badRequest(
    `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: strict decoding error: ${problems.join(', ')}`,
  )
}

function decode(body: Buffer, text: string, encoding: Encoding, expected: ExpectedKind): KubeObject {
  let value: unknown
  try {
    value = encoding === 'protobuf' ? decodeProtobuf(body).object : parseText(text, encoding)
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw unrecognized(
      body,
      expected,
      `couldn't get version/kind; ${encoding} parse error: ${(error as Error).message}`,
    )
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as KubeObject
  throw unrecognized(body, expected, 'it is not an object')
}

/** How much of a body that makes no sense is shown. */
const shownBytes = 30

function unrecognized(body: Buffer, { kind }: ExpectedKind, why: string): Error {
  const start = `${body.subarray(0, shownBytes).toString('hex')}${body.length > shownBytes ? ' ...' : ''}`
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${start})`)
}

function parseText(text: string, encoding: Encoding): unknown {
  return encoding === 'yaml' ? parseYamlBody(text) : parseJson(text)
}

function unusable({ apiVersion, kind }: ExpectedKind, why: string): Error {
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`)
}

/** A body may leave its type away; one that names another type is not what the client meant to send here. */
function checkType(object: KubeObject, expected: ExpectedKind): void {
  const { apiVersion = '', kind = '' } = object
  const isAccepted = apiVersion === expected.apiVersion || expected.alsoAccepts?.includes(apiVersion) === true
  if (apiVersion !== '' && !isAccepted) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected.apiVersion})`,
    )
  }
  if (kind !== '' && kind !== expected.kind) {
    throw badRequest(`the kind in the data (${kind}) does not match the expected kind (${expected.kind})`)
  }
}
