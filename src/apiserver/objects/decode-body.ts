/** A request body as an object of the kind it is sent for: decoded, of the right type, with unknown fields reported. */

import { BodyTooLargeError } from '../../http/server/exchange.ts'
import { parseJson } from '../../kube/codec/json.ts'
import { decodeMessage, decodeProtobuf, encodeMessage } from '../../kube/codec/object-codec.ts'
import { negotiateBody } from '../../kube/negotiation-body.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Encoding } from '../../kube/representation.ts'
import type { MessageType } from '../../kube/schema/schema.ts'
import { badRequest, requestEntityTooLarge } from '../../kube/status/request-errors.ts'
import { ApiError } from '../../kube/status/status.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { isEmbeddedKind, withEmbeddedKinds } from '../kinds/embedded-kinds.ts'
import type { RequestContext } from '../request/handler.ts'
import { parseYamlBody } from './decode-yaml.ts'
import { MAX_BODY_VALUES, scanJson } from './scan-json.ts'
import { type FieldValidation, readWriteOptions } from './write-options.ts'

/** What an API server takes; etcd refuses objects of half the size. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024
/** Bodies that are asked and not kept: reviews, token requests, evictions, options. Room for a user with thousands of groups. */
export const MAX_QUESTION_BYTES = 128 * 1024
/** Bodies that are asked and not kept, in YAML, which takes far longer to read than JSON. */
const MAX_YAML_QUESTION_BYTES = 8 * 1024

export interface ExpectedKind {
  readonly apiVersion: string
  readonly kind: string
  readonly message: MessageType
  /** Further versions of the same shape that a body may be written in. */
  readonly alsoAccepts?: readonly string[]
}

/** A body as it came, and what its sender said about it. */
export interface RequestBody {
  readonly bytes: Uint8Array
  readonly encoding: Encoding
  readonly validation: FieldValidation
}

export interface Decoded {
  readonly object: KubeObject
  /** What was dropped on the way, where the client did not ask for strictness. */
  readonly warnings: readonly string[]
}

/** The whole body. Throws a 413 where it is longer; resolves when it is this request's turn to work on it. */
export async function readBodyBytes(context: RequestContext, maxBytes = MAX_BODY_BYTES): Promise<Buffer> {
  try {
    const bytes = await context.exchange.readBody(maxBytes)
    // Whatever is done with it is work of some length.
    await context.turn()
    return bytes
  } catch (error) {
    if (error instanceof BodyTooLargeError) throw requestEntityTooLarge(`limit is ${maxBytes}`)
    throw error
  }
}

/** The whole body of a write, and how it is meant. Options and encoding are refused before the body is read. */
export async function readBody(context: RequestContext, maxBytes = MAX_BODY_BYTES): Promise<RequestBody> {
  const encoding = negotiateBody(context.exchange.headers.get('content-type'))
  const validation = readWriteOptions(context)
  return { bytes: await readBodyBytes(context, maxBytes), encoding, validation }
}

/** For what is asked and not kept, and therefore small. */
export async function readQuestion(context: RequestContext, expected: ExpectedKind): Promise<KubeObject> {
  const body = await readBody(context, MAX_QUESTION_BYTES)
  if (body.encoding === 'yaml' && body.bytes.length > MAX_YAML_QUESTION_BYTES)
    throw requestEntityTooLarge(`limit is ${MAX_YAML_QUESTION_BYTES} for YAML; send it as JSON`)
  const { object, warnings } = decodeObject(body, expected)
  for (const warning of warnings) context.warnings.add(warning)
  return object
}

/** Throws an ApiError for everything that is no such object. */
export function decodeObject({ bytes, encoding, validation }: RequestBody, expected: ExpectedKind): Decoded {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = encoding === 'protobuf' ? '' : body.toString('utf8')
  const { duplicates } = encoding === 'json' ? scanJson(text) : { duplicates: [] }
  const object = decode(body, text, encoding, expected)
  if (encoding !== 'json') checkValues(object, MAX_BODY_VALUES)
  checkType(object, expected)
  return conform(object, expected, validation, duplicates)
}

/**
 * The object as the type has it: fields in order, zeros in place, nothing unknown. What is dropped on the way is a warning
 * or, if the client asked for strictness, an error.
 */
export function conform(
  object: KubeObject,
  expected: ExpectedKind,
  validation: FieldValidation,
  duplicates: readonly string[] = [],
): Decoded {
  const { apiVersion, kind, message } = expected
  try {
    const { bytes, dropped } = encodeMessage(message, object)
    const problems = validation === 'Ignore' ? [] : problemsOf(kind, dropped.names, duplicates)
    if (validation === 'Strict' && problems.length > 0) {
      throw unusable(expected, `strict decoding error: ${problems.join(', ')}`)
    }
    // Not by spreading: objects made that way each get a shape of their own, and all later code is slower for it.
    const conforming = withEmbeddedKinds(Object.assign({ kind, apiVersion }, decodeMessage(message, bytes).value))
    return { object: conforming, warnings: problems }
  } catch (error) {
    if (error instanceof WireError) throw unusable(expected, error.message)
    throw error
  }
}

/** For objects of our own, about which nobody needs to be told anything. */
export function inOrder(object: KubeObject, expected: ExpectedKind): KubeObject {
  return conform(object, expected, 'Ignore').object
}

function problemsOf(kind: string, dropped: readonly string[], duplicates: readonly string[]): string[] {
  const unknown = dropped.filter((name) => !isEmbeddedKind(kind, name)).sort()
  return [
    ...unknown.map((name) => `unknown field ${JSON.stringify(name)}`),
    ...duplicates.map((name) => `duplicate field ${JSON.stringify(name)}`),
  ]
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

/** What the scan of a JSON text says, for objects that come without one. Parts of YAML may stand in several places. */
export function checkValues(object: KubeObject, maxValues: number): void {
  if (countValues(object, maxValues) > maxValues) throw requestEntityTooLarge(`limit is ${maxValues} values`)
}

/** Counted until there are more than anybody wants to know. */
export function countValues(object: KubeObject, maxValues: number): number {
  let values = 0
  const rest: unknown[] = [object]
  while (rest.length > 0 && values <= maxValues) {
    const value = rest.pop()
    if (typeof value !== 'object' || value === null) continue
    const inside = Object.values(value)
    values += inside.length
    for (const each of inside) rest.push(each)
  }
  return values
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
