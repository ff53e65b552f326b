/**
 * Reads the `generated.proto` files. They are machine-written, so one message or field per line can be relied on; a
 * line that looks like a field and is not understood is an error, never skipped.
 */
export interface ProtoField {
  readonly name: string
  readonly number: number
  /** `optional` and `repeated` as written; a map has the label `map` and string keys. */
  readonly label: 'optional' | 'repeated' | 'map'
  /** A scalar name, or the full name of a message without the leading dot. */
  readonly type: string
}

export interface ProtoMessage {
  readonly name: string
  readonly fields: ProtoField[]
}

export interface ProtoFile {
  readonly package: string
  readonly messages: Map<string, ProtoMessage>
}

const scalars = new Set(['string', 'bool', 'int32', 'int64', 'double', 'bytes'])
const plainField = /^ {2}(optional|repeated) (\S+) (\w+) = (\d+)(?: \[.*\])?;$/
const mapField = /^ {2}map<string, (\S+)> (\w+) = (\d+);$/

export function parseProto(text: string): ProtoFile {
  const packageName = /^package (\S+);$/m.exec(text)?.[1]
  if (packageName === undefined) throw new Error('proto file without a package line')
  const messages = new Map<string, ProtoMessage>()
  let current: ProtoMessage | undefined
  for (const line of text.split('\n')) {
    const opening = /^message (\w+) \{$/.exec(line)
    if (opening?.[1] !== undefined) {
      current = { name: opening[1], fields: [] }
      messages.set(current.name, current)
    } else if (line === '}') {
      current = undefined
    } else if (current !== undefined && /^ {2}\w/.test(line)) {
      current.fields.push(parseField(line, packageName))
    }
  }
  return { package: packageName, messages }
}

function parseField(line: string, packageName: string): ProtoField {
  const plain = plainField.exec(line)
  if (plain !== null) {
    const [, label, type, name, number] = plain as unknown as [string, 'optional' | 'repeated', string, string, string]
    return { name, number: Number(number), label, type: qualify(type, packageName) }
  }
  const map = mapField.exec(line)
  if (map !== null) {
    const [, type, name, number] = map as unknown as [string, string, string, string]
    return { name, number: Number(number), label: 'map', type: qualify(type, packageName) }
  }
  throw new Error(`cannot read proto field: ${line}`)
}

function qualify(type: string, packageName: string): string {
  if (scalars.has(type)) return type
  return type.startsWith('.') ? type.slice(1) : `${packageName}.${type}`
}
