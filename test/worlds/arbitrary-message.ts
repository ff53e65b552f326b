/** Random JSON values of any message in the schema, with empties, zeros and awkward strings well represented. */
import * as fc from 'fast-check'
import type { FieldType, MessageType, ScalarType } from '../../src/kube/schema/schema.ts'

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom('', '<&>', '\u2028', '__proto__', 'é😀', 'x'.repeat(127), 'x'.repeat(128)) },
)
const mapKey = fc.oneof(text, fc.constantFrom('0', '10', '9', '__proto__', 'constructor', 'toString'))
const json: fc.Arbitrary<unknown> = fc.jsonValue({ maxDepth: 2 })

const time = fc
  .integer({ min: -62_135_596_799, max: 253_402_300_799 })
  .map((seconds) => new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z'))
  .filter((value) => /^\d{4}-/.test(value))
const microTime = fc
  .tuple(time, fc.integer({ min: 0, max: 999_999 }))
  .map(([value, micros]) => value.replace('Z', `.${String(micros).padStart(6, '0')}Z`))

const specials: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  Quantity: fc.constantFrom('0', '500m', '1536Mi', '3', '1e3', '1k', '999E', '-5', '1n'),
  QuantityValue: fc.constantFrom('0', '1'),
  IntOrString: fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), text),
  Time: time,
  MicroTime: microTime,
  Duration: fc.constantFrom('0s', '1h30m0s', '1.5s', '-2m0s', '100ms', '3ns'),
  RawExtension: json,
  JSON: json,
  FieldsV1: fc.constantFrom({}, { 'f:metadata': { 'f:labels': { '.': {} } } }),
}

/** `fullness` is the chance that a field is present; it falls with depth, so that values stay small. */
export function arbitraryMessage(message: MessageType, fullness = 0.5): fc.Arbitrary<Record<string, unknown>> {
  if (message.form === 'list') {
    const [items] = message.fields
    return (items === undefined ? fc.constant([]) : element(items, fullness / 2)) as never
  }
  const fields = message.fields.flatMap((field) => (field.inline && field.message ? inlined(field.message) : [field]))
  return fc
    .tuple(...fields.map((field) => fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), lazily(field, fullness))))
    .map((values) => {
      const object: Record<string, unknown> = {}
      for (const [index, [chance, make]] of values.entries()) {
        if (chance < fullness) object[fields[index]?.jsonName ?? ''] = make
      }
      return object
    })
}

function inlined(message: MessageType): FieldType[] {
  return message.fields.flatMap((field) => (field.inline && field.message ? inlined(field.message) : [field]))
}

/** Types may contain themselves: below some fullness nothing is present, so nothing needs to be made. */
function lazily(field: FieldType, fullness: number): fc.Arbitrary<unknown> {
  return fullness < 0.02 ? fc.constant(null) : element(field, fullness / 3)
}

function element(field: FieldType, fullness: number): fc.Arbitrary<unknown> {
  const single = field.scalar === undefined ? nested(field.message as MessageType, fullness) : scalars[field.scalar]
  if (field.shape === 'list') return fc.array(single, { maxLength: 3 })
  return field.shape === 'map' ? fc.dictionary(mapKey, single, { maxKeys: 3, noNullPrototype: true }) : single
}

function nested(message: MessageType, fullness: number): fc.Arbitrary<unknown> {
  const name = message.fullName.slice(message.fullName.lastIndexOf('.') + 1)
  if (message.form === 'special') return specials[name] ?? fc.constant(null)
  if (message.form === 'list') return fc.array(text, { maxLength: 3 })
  return fullness < 0.02 ? fc.constant({}) : arbitraryMessage(message, fullness)
}

const scalars: Readonly<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  string: text,
  bool: fc.boolean(),
  int32: fc.oneof(fc.constant(0), fc.integer()),
  int64: fc.oneof(fc.constant(0), fc.maxSafeInteger(), fc.bigInt({ min: 2n ** 60n, max: 2n ** 63n - 1n })),
  double: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
  bytes: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64')),
}
