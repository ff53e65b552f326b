/** The same messages for protobufjs, built by reflection from our schema tables. */
import protobuf from 'protobufjs'
import type { FieldType, MessageType } from '../../src/kube/schema/schema.ts'

/** Fields of the messages that our codec treats by hand: name, number, type. */
const specialFields: Readonly<Record<string, [string, number, string][]>> = {
  Quantity: [['string', 1, 'string']],
  IntOrString: [
    ['type', 1, 'int64'],
    ['intVal', 2, 'int32'],
    ['strVal', 3, 'string'],
  ],
  Time: [
    ['seconds', 1, 'int64'],
    ['nanos', 2, 'int32'],
  ],
  MicroTime: [
    ['seconds', 1, 'int64'],
    ['nanos', 2, 'int32'],
  ],
  Duration: [['duration', 1, 'int64']],
  FieldsV1: [['raw', 1, 'bytes']],
  RawExtension: [['raw', 1, 'bytes']],
}

export function protobufjsType(message: MessageType): protobuf.Type {
  const root = new protobuf.Root()
  const made = new Map<string, protobuf.Type>()
  const make = (wanted: MessageType): protobuf.Type => {
    const known = made.get(wanted.fullName)
    if (known !== undefined) return known
    const type = new protobuf.Type(flatName(wanted))
    made.set(wanted.fullName, type)
    root.add(type)
    addFields(type, wanted, make)
    return type
  }
  const type = make(message)
  root.resolveAll()
  return type
}

function addFields(type: protobuf.Type, message: MessageType, make: (message: MessageType) => protobuf.Type): void {
  if (message.form === 'special') {
    const shortName = message.fullName.slice(message.fullName.lastIndexOf('.') + 1)
    for (const [name, number, kind] of specialFields[shortName] ?? []) type.add(new protobuf.Field(name, number, kind))
    return
  }
  for (const field of message.fields) type.add(makeField(field, make))
}

function makeField(field: FieldType, make: (message: MessageType) => protobuf.Type): protobuf.FieldBase {
  const name = field.jsonName === '' ? `field${field.number}` : field.jsonName
  if (field.message !== undefined) make(field.message)
  const type = field.scalar ?? flatName(field.message as MessageType)
  if (field.shape === 'map') return new protobuf.MapField(name, field.number, 'string', type)
  return new protobuf.Field(name, field.number, type, field.shape === 'list' ? 'repeated' : 'optional')
}

function flatName(message: MessageType): string {
  return message.fullName.replaceAll('.', '_')
}
