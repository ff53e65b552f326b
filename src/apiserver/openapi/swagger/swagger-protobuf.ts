/**
 * The OpenAPI v2 document in protobuf, the only form that kubectl asks for. Numbers are those of the messages of the package
 * `openapi.v2`; what this server never says has no place here. Fields are written from the last to the first, since the
 * writer goes backwards.
 */
import { BackwardWriter } from '../../../protobuf/writer.ts'
import type { SwaggerDocument } from './swagger.ts'

/** Writes one value as field `number`. */
type FieldWriter = (writer: BackwardWriter, number: number, value: unknown) => void
type MessageFields = readonly (readonly [number: number, name: string, write: FieldWriter])[]

const text: FieldWriter = (writer, number, value) => writer.stringField(number, String(value))
const flag: FieldWriter = (writer, number, value) => writer.varintField(number, value === true ? 1 : 0)
/** Any value, as YAML; JSON is YAML too. */
const any: FieldWriter = (writer, number, value) =>
  within(writer, number, () => writer.stringField(2, `${JSON.stringify(value)}\n`))

function within(writer: BackwardWriter, number: number, write: () => void): void {
  const before = writer.length
  write()
  writer.closeField(number, before)
}

function list(write: FieldWriter): FieldWriter {
  return (writer, number, value) => {
    for (const item of (value as unknown[]).toReversed()) write(writer, number, item)
  }
}

/** A map: messages of a name and a value. */
function map(write: FieldWriter): FieldWriter {
  return (writer, number, value) => {
    for (const [name, item] of Object.entries(value as object).toReversed()) {
      within(writer, number, () => {
        write(writer, 2, item)
        writer.stringField(1, name)
      })
    }
  }
}

/** A message around one field. */
function wrapped(inner: number, write: FieldWriter): FieldWriter {
  return (writer, number, value) => within(writer, number, () => write(writer, inner, value))
}

/** The fields in the order of their numbers; what starts with `x-` goes into the extensions. */
function message(fields: () => MessageFields, extensions: number): FieldWriter {
  return (writer, number, value) => {
    const record = value as Readonly<Record<string, unknown>>
    const extra = Object.fromEntries(Object.entries(record).filter(([name]) => name.startsWith('x-')))
    within(writer, number, () => {
      map(any)(writer, extensions, extra)
      for (const [field, name, write] of fields().toReversed()) {
        if (record[name] !== undefined) write(writer, field, record[name])
      }
    })
  }
}

const schemaFields: MessageFields = [
  [1, '$ref', text],
  [2, 'format', text],
  [4, 'description', text],
  [16, 'uniqueItems', flag],
  [19, 'required', list(text)],
  [21, 'additionalProperties', wrapped(1, writeSchema)],
  [22, 'type', wrapped(1, text)],
  [23, 'items', wrapped(1, writeSchema)],
  [25, 'properties', wrapped(1, map(writeSchema))],
]

/** A function by name, because schemas contain schemas. */
function writeSchema(writer: BackwardWriter, number: number, value: unknown): void {
  message(() => schemaFields, 31)(writer, number, value)
}

const bodyFields: MessageFields = [
  [1, 'description', text],
  [2, 'name', text],
  [3, 'in', text],
  [4, 'required', flag],
  [5, 'schema', writeSchema],
]
const queryFields: MessageFields = [
  [1, 'required', flag],
  [2, 'in', text],
  [3, 'description', text],
  [4, 'name', text],
  [6, 'type', text],
  [20, 'uniqueItems', flag],
]
const pathFields: MessageFields = [
  [1, 'required', flag],
  [2, 'in', text],
  [3, 'description', text],
  [4, 'name', text],
  [5, 'type', text],
  [19, 'uniqueItems', flag],
]

/** One of several, each with its place: a body, or something else, which is in the query or in the path. */
const parameterWriters: Readonly<Record<string, FieldWriter>> = {
  body: wrapped(
    1,
    wrapped(
      1,
      message(() => bodyFields, 6),
    ),
  ),
  query: wrapped(
    1,
    wrapped(
      2,
      wrapped(
        3,
        message(() => queryFields, 23),
      ),
    ),
  ),
  path: wrapped(
    1,
    wrapped(
      2,
      wrapped(
        4,
        message(() => pathFields, 22),
      ),
    ),
  ),
}

const parameter: FieldWriter = (writer, number, value) =>
  parameterWriters[(value as { in: string }).in]?.(writer, number, value)

const responseFields: MessageFields = [
  [1, 'description', text],
  [2, 'schema', wrapped(1, writeSchema)],
]
const operationFields: MessageFields = [
  [1, 'tags', list(text)],
  [3, 'description', text],
  [5, 'operationId', text],
  [6, 'produces', list(text)],
  [7, 'consumes', list(text)],
  [8, 'parameters', list(parameter)],
  [
    9,
    'responses',
    wrapped(
      1,
      map(
        wrapped(
          1,
          message(() => responseFields, 5),
        ),
      ),
    ),
  ],
  [10, 'schemes', list(text)],
]
const operation = message(() => operationFields, 13)
const pathItemFields: MessageFields = [
  [2, 'get', operation],
  [3, 'put', operation],
  [4, 'post', operation],
  [5, 'delete', operation],
  [6, 'options', operation],
  [7, 'head', operation],
  [8, 'patch', operation],
  [9, 'parameters', list(parameter)],
]
const infoFields: MessageFields = [
  [1, 'title', text],
  [2, 'version', text],
]
const keyFields: MessageFields = [
  [1, 'type', text],
  [2, 'name', text],
  [3, 'in', text],
  [4, 'description', text],
]
const documentFields: MessageFields = [
  [1, 'swagger', text],
  [2, 'info', message(() => infoFields, 7)],
  [8, 'paths', wrapped(2, map(message(() => pathItemFields, 10)))],
  [9, 'definitions', wrapped(1, map(writeSchema))],
  [12, 'security', list(wrapped(1, map(wrapped(1, list(text)))))],
  [
    13,
    'securityDefinitions',
    wrapped(
      1,
      map(
        wrapped(
          2,
          message(() => keyFields, 5),
        ),
      ),
    ),
  ],
]

export function encodeSwagger(document: SwaggerDocument): Buffer {
  const writer = new BackwardWriter()
  const record = document as unknown as Readonly<Record<string, unknown>>
  for (const [number, name, write] of documentFields.toReversed()) write(writer, number, record[name])
  return writer.finish()
}
