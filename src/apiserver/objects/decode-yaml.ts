/**
 * YAML bodies, read in time that grows with their length and no faster. The library takes microseconds for each character of
 * some texts, and more and more for each key of a mapping; while it reads, nobody else is served.
 */
import { type Document, isScalar, LineCounter, parseDocument, visit, type YAMLError } from 'yaml'
import { parseJson } from '../../kube/codec/json.ts'
import { excessiveNestingAt } from '../../kube/codec/yaml-nesting.ts'
import { requestEntityTooLarge } from '../../kube/status/request-errors.ts'
import { ApiError } from '../../kube/status/status.ts'
import { scanJson } from './scan-json.ts'

/**
 * A second or two of work at worst, off the event loop. kubectl and all client libraries send JSON, whatever they were given; what people send by
 * hand is far smaller.
 */
export const MAX_YAML_BODY_BYTES = 128 * 1024

/** Aliases in one body: enough for texts that repeat a part, too few for those that grow by it. */
const maxAliasCount = 100
const notUnique = 'Map keys must be unique'

/** Throws an `ApiError` where it is too long, and an error with a reason for people where it makes no sense. */
export function parseYamlBody(text: string): unknown {
  const json = parseAsJson(text)
  if (json !== undefined) return json
  if (Buffer.byteLength(text) > MAX_YAML_BODY_BYTES)
    throw requestEntityTooLarge(`limit is ${MAX_YAML_BODY_BYTES} for YAML; send larger objects as JSON`)
  if (excessiveNestingAt(text) !== undefined) throw new Error('it is nested too deeply')
  const lines = new LineCounter()
  // To describe each of many errors in full takes far longer than to find it, and so does its way to find a key again.
  const options = { prettyErrors: false, uniqueKeys: false, logLevel: 'error', lineCounter: lines } as const
  const document = parseDocument(text, options)
  const [error] = document.errors
  if (error !== undefined) throw withPlace(error, lines)
  refuseRepeatedKeys(document)
  return document.toJS({ maxAliasCount })
}

/** All JSON is YAML, and is read far faster as what it is. */
function parseAsJson(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    const { duplicates } = scanJson(text)
    const value = parseJson(text)
    if (duplicates.length === 0) return value
  } catch (error) {
    if (error instanceof ApiError) throw error
    return undefined
  }
  throw new Error(notUnique)
}

function withPlace({ message, pos }: YAMLError, lines: LineCounter): Error {
  const { line, col } = lines.linePos(pos[0])
  return new Error(`${message} at line ${line}, column ${col}`)
}

function refuseRepeatedKeys(document: Document): void {
  visit(document, {
    Map: (_key, { items }) => {
      const keys = items.flatMap(({ key }) => (isScalar(key) ? [key.value] : []))
      if (new Set(keys).size < keys.length) throw new Error(notUnique)
    },
  })
}
