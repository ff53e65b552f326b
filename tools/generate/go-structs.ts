/**
 * Reads struct and named-type declarations from gofmt-formatted Go sources: field order, pointers, struct tags and the
 * `+marker` comments. Only what the tables need; bodies of functions and prose are passed over.
 */
export interface GoField {
  readonly goName: string
  readonly type: string
  readonly tags: Readonly<Record<string, string>>
  readonly markers: ReadonlyMap<string, string>
}

export interface GoStruct {
  readonly name: string
  readonly fields: GoField[]
}

export interface GoPackage {
  readonly structs: Map<string, GoStruct>
  /** Named types that are not structs: name to the type expression on the right. */
  readonly named: Map<string, string>
  /** Imported packages by the name they are used under in this package. */
  readonly imports: Map<string, string>
  /** The value of the package's GroupName constant, where it has one. */
  groupName: string | undefined
}

export function emptyGoPackage(): GoPackage {
  return { structs: new Map(), named: new Map(), imports: new Map(), groupName: undefined }
}

export function readGoFile(text: string, into: GoPackage): void {
  const groupName = /^\s*(?:const )?GroupName(?: +string)? += "([^"]*)"$/m.exec(text)?.[1]
  if (groupName !== undefined) into.groupName = groupName
  for (const match of text.matchAll(/^(?:import )?\t?(\w+ )?"(k8s\.io\/[^"]+)"$/gm)) {
    const path = match[2] as string
    into.imports.set(match[1]?.trim() ?? (path.split('/').at(-1) as string), path)
  }
  let current: GoStruct | undefined
  let comments: string[] = []
  for (const line of text.split('\n')) {
    if (current === undefined) {
      current = readDeclaration(line, into)
      comments = []
    } else if (line === '}') {
      current = undefined
    } else if (/^\t\/\//.test(line)) {
      comments.push(line.replace(/^\t\/\/ ?/, ''))
    } else {
      const field = readField(line, comments)
      if (field !== undefined) current.fields.push(field)
      comments = []
    }
  }
}

function readDeclaration(line: string, into: GoPackage): GoStruct | undefined {
  const struct = /^type (\w+) struct ?\{(\})?$/.exec(line)
  if (struct?.[1] !== undefined) {
    const declared: GoStruct = { name: struct[1], fields: [] }
    into.structs.set(declared.name, declared)
    return struct[2] === undefined ? declared : undefined
  }
  const named = /^type (\w+) (?:= )?(\S.*)$/.exec(line)
  if (named?.[1] !== undefined && named[2] !== undefined && !/^(struct|interface|func)\b/.test(named[2])) {
    into.named.set(named[1], named[2].replace(/\s*\/\/.*$/, ''))
  }
  return undefined
}

function readField(line: string, comments: readonly string[]): GoField | undefined {
  const tagged = /^\t(\S+)\s+(?:(\S.*?)\s+)?`([^`]*)`/.exec(line)
  if (tagged?.[1] === undefined || tagged[3] === undefined) return undefined
  const embedded = tagged[2] === undefined
  const type = embedded ? tagged[1] : (tagged[2] as string)
  const goName = embedded ? type.replace(/^\*?(\w+\.)?/, '') : tagged[1]
  return { goName, type, tags: readTags(tagged[3]), markers: readMarkers(comments) }
}

function readTags(text: string): Record<string, string> {
  const tags: Record<string, string> = {}
  for (const match of text.matchAll(/(\w+):"([^"]*)"/g)) tags[match[1] as string] = match[2] as string
  return tags
}

/** Markers may repeat (`+listMapKey`): values of the same marker are joined with commas. */
function readMarkers(comments: readonly string[]): ReadonlyMap<string, string> {
  const markers = new Map<string, string>()
  for (const comment of comments) {
    const match = /^\+([\w:.]+)(?:=(.*))?$/.exec(comment.trim())
    if (match?.[1] === undefined) continue
    const value = match[2] ?? ''
    const before = markers.get(match[1])
    markers.set(match[1], before === undefined ? value : `${before},${value}`)
  }
  return markers
}
