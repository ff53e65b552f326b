/**
 * Reads a configuration file into its top-level keys, each with the line it stands on.
 */
import {
  type Document,
  isMap,
  isScalar,
  LineCounter,
  type Pair,
  type ParsedNode,
  parseDocument,
  type YAMLError,
} from 'yaml'
import { excessiveNestingAt } from '../../kube/codec/yaml-nesting.ts'
import { readRegularFile } from '../../runtime/files/regular-file.ts'
import { explainReadFailure } from '../read-failure.ts'

/** Configuration is written by people; anything larger is the wrong file. */
export const MAX_CONFIG_FILE_BYTES = 1024 * 1024

interface FileEntry {
  readonly key: string
  readonly value: unknown
  readonly line: number
}

interface FileProblem {
  readonly line?: number
  readonly message: string
}

export interface FileContent {
  readonly entries: readonly FileEntry[]
  readonly problems: readonly FileProblem[]
}

export function readYamlFile(path: string): FileContent {
  let bytes: Buffer
  try {
    bytes = readRegularFile(path, { maxBytes: MAX_CONFIG_FILE_BYTES })
  } catch (error) {
    return failed(`cannot be read: ${explainReadFailure(error)}`)
  }
  if (bytes.byteLength > MAX_CONFIG_FILE_BYTES) {
    return failed(`is larger than ${MAX_CONFIG_FILE_BYTES} bytes; is it the right file?`)
  }
  return parseYaml(bytes.toString('utf8'))
}

function parseYaml(text: string): FileContent {
  const tooDeepAt = excessiveNestingAt(text)
  if (tooDeepAt !== undefined) {
    const line = text.slice(0, tooDeepAt).split('\n').length
    return { entries: [], problems: [{ line, message: 'values are nested too deeply' }] }
  }
  const lines = new LineCounter()
  // The parser compares every key with every other; `readEntries` is quicker.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  // What the parser only warns of, such as a tag nobody knows, would be taken for something it is not.
  const complaints = [...document.errors, ...document.warnings]
  if (complaints.length > 0) {
    const problems = complaints.map((complaint) => ({
      line: lines.linePos(complaint.pos[0]).line,
      message: messageOf(complaint),
    }))
    return { entries: [], problems }
  }
  const { contents } = document
  if (contents === null) return { entries: [], problems: [] }
  if (!isMap(contents)) return failed('is not a mapping of keys to values')
  return readEntries(document, contents.items, lines)
}

/** The parser's own words for these are meant for programmers. */
function messageOf({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') return 'a second document starts here; a configuration file has one'
  return message
}

type ParsedPair = Pair<ParsedNode, ParsedNode | null>

function readEntries(document: Document, pairs: readonly ParsedPair[], lines: LineCounter): FileContent {
  const entries = new Map<string, FileEntry>()
  const problems: FileProblem[] = []
  for (const { key: keyNode, value: valueNode } of pairs) {
    const { line } = lines.linePos(keyNode.range[0])
    try {
      const key = nameOf(keyNode, entries)
      entries.set(key, { key, value: plainOf(document, key, valueNode), line })
    } catch (error) {
      problems.push({ line, message: (error as Error).message })
    }
  }
  return { entries: [...entries.values()], problems }
}

function nameOf(node: ParsedNode, earlier: ReadonlyMap<string, FileEntry>): string {
  if (!isScalar(node)) throw new Error('a key is not plain text')
  const name = String(node.value)
  const first = earlier.get(name)
  if (first !== undefined) throw new Error(`${name}: already set in line ${first.line}`)
  return name
}

function plainOf(document: Document, key: string, node: ParsedNode | null): unknown {
  try {
    return node?.toJS(document)
  } catch (error) {
    // An alias of nothing, or so many that they would fill the memory.
    throw new Error(`${key}: ${(error as Error).message}`, { cause: error })
  }
}

function failed(message: string): FileContent {
  return { entries: [], problems: [{ message }] }
}
