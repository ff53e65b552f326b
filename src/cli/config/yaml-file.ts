/**
 * Reads a configuration file into its top-level keys, each with the line it stands on.
 */
import { readFileSync } from 'node:fs'
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml'

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
    bytes = readFileSync(path)
  } catch (error) {
    return failed(`cannot be read: ${explain(error as NodeJS.ErrnoException)}`)
  }
  if (bytes.byteLength > MAX_CONFIG_FILE_BYTES) {
    return failed(`is larger than ${MAX_CONFIG_FILE_BYTES} bytes; is it the right file?`)
  }
  return parseYaml(bytes.toString('utf8'))
}

function parseYaml(text: string): FileContent {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ pos, message }) => ({ line: lines.linePos(pos[0]).line, message }))
    return { entries: [], problems }
  }
  const { contents } = document
  if (contents === null) return { entries: [], problems: [] }
  if (!isMap(contents)) return failed('is not a mapping of keys to values')
  const entries = contents.items.map(({ key, value }): FileEntry => {
    const line = isScalar(key) ? lines.linePos(key.range?.[0] ?? 0).line : 1
    return { key: isScalar(key) ? String(key.value) : String(key), value: plainOf(value), line }
  })
  return { entries, problems: [] }

  function plainOf(node: unknown): unknown {
    if (isScalar(node)) return node.value
    return (node as { toJS?: (context: typeof document) => unknown } | null)?.toJS?.(document)
  }
}

function failed(message: string): FileContent {
  return { entries: [], problems: [{ message }] }
}

function explain({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'this user may not read it'
  if (code === 'EISDIR') return 'it is a folder'
  return message
}
