/** Either a schema or something simpler: three types inside a CustomResourceDefinition's schema. */
import { WIRE_BYTES, WIRE_VARINT } from '../../protobuf/reader.ts'
import type { BackwardWriter } from '../../protobuf/writer.ts'
import { expected, readFields, type SpecialCodec } from './special-codec.ts'

/** Wire types by field number. */
const twoBytes = [undefined, WIRE_BYTES, WIRE_BYTES]
const varintAndBytes = [undefined, WIRE_VARINT, WIRE_BYTES]

export function schemaOrBool(schemaName: string): SpecialCodec {
  return {
    zero: false,
    read(reader, end, source) {
      let [allows, schema]: [boolean, unknown] = [false, undefined]
      readFields(reader, end, varintAndBytes, (number, to) => {
        if (number === 1) allows = reader.bool(to)
        else schema = source.readMessage(schemaName, reader, to)
      })
      return schema ?? allows
    },
    write(value, writer, sink) {
      const isSchema = typeof value === 'object' && value !== null
      if (!isSchema && typeof value !== 'boolean' && value !== null) throw expected('a schema or a boolean', value)
      if (isSchema) writeNested(writer, 2, () => sink.writeMessage(schemaName, value))
      writer.varintField(1, isSchema || value === true ? 1 : 0)
    },
  }
}

export function schemaOrArray(schemaName: string): SpecialCodec {
  return {
    zero: null,
    read(reader, end, source) {
      let schema: unknown = null
      const list: unknown[] = []
      readFields(reader, end, twoBytes, (number, to) => {
        if (number === 1) schema = source.readMessage(schemaName, reader, to)
        else list.push(source.readMessage(schemaName, reader, to))
      })
      return list.length > 0 ? list : schema
    },
    write(value, writer, sink) {
      if (value === null) return
      if (typeof value !== 'object') throw expected('a schema or a list of schemas', value)
      const list: unknown[] = Array.isArray(value) ? value : []
      for (const item of list.toReversed()) writeNested(writer, 2, () => sink.writeMessage(schemaName, item))
      if (!Array.isArray(value)) writeNested(writer, 1, () => sink.writeMessage(schemaName, value))
    },
  }
}

export function schemaOrStringArray(schemaName: string): SpecialCodec {
  return {
    zero: null,
    read(reader, end, source) {
      let schema: unknown = null
      const names: string[] = []
      readFields(reader, end, twoBytes, (number, to) => {
        if (number === 1) schema = source.readMessage(schemaName, reader, to)
        else names.push(reader.string(to))
      })
      return names.length > 0 ? names : schema
    },
    write(value, writer, sink) {
      if (value === null) return
      if (typeof value !== 'object') throw expected('a schema or a list of strings', value)
      const names: unknown[] = Array.isArray(value) ? value : []
      for (const name of names.toReversed()) {
        if (typeof name !== 'string') throw expected('a string', name)
        writer.stringField(2, name)
      }
      if (!Array.isArray(value)) writeNested(writer, 1, () => sink.writeMessage(schemaName, value))
    },
  }
}

function writeNested(writer: BackwardWriter, number: number, write: () => void): void {
  const before = writer.length
  write()
  writer.closeField(number, before)
}
