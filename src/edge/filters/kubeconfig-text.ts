/**
 * Kubeconfigs as people write them: comments, order and quotes are theirs. Only the texts of the servers change, found
 * by parsing the YAML and replaced in place. What does not parse is left alone.
 */
import { type Document, isMap, isScalar, isSeq, parseDocument, type Scalar } from 'yaml'
import { excessiveNestingAt } from '../../kube/codec/yaml-nesting.ts'

/** Kubeadm's files have less than 2 KiB; parsing what somebody made to be slow costs up to a second even for this much. */
export const MAX_FILTERED_KUBECONFIG_CHARACTERS = 16 * 1024

/** The text with another `server` in every entry of `clusters`; the very same text where nothing changes. */
export function replaceServers(text: string, server: string): string {
  const clusters = parse(text)?.get('clusters')
  if (!isSeq(clusters)) return text
  let result = ''
  let copied = 0
  for (const entry of clusters.items) {
    const node = isMap(entry) ? entry.getIn(['cluster', 'server'], true) : undefined
    if (!isText(node) || node.value === server) continue
    const [start, end] = node.range
    result += text.slice(copied, start) + printed(node, server)
    copied = end
  }
  return result + text.slice(copied)
}

/** A text in a YAML document; undefined where it is absent or empty, or where the document does not parse. */
export function readYamlText(text: string, path: readonly string[]): string | undefined {
  const value = parse(text)?.getIn(path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

function parse(text: string): Document | undefined {
  if (text.length > MAX_FILTERED_KUBECONFIG_CHARACTERS || excessiveNestingAt(text) !== undefined) return undefined
  const document = parseDocument(text, { logLevel: 'silent' })
  return document.errors.length === 0 && isMap(document.contents) ? document : undefined
}

type PlacedText = Scalar<string> & { readonly range: readonly [start: number, end: number, next: number] }

function isText(node: unknown): node is PlacedText {
  if (!isScalar(node) || typeof node.value !== 'string' || !Array.isArray(node.range)) return false
  return node.type === 'PLAIN' || node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE'
}

/** Brackets, as around an IPv6 address, are not everywhere safe without quotes; a JSON string always is. */
function printed({ type }: Scalar, server: string): string {
  return type === 'PLAIN' && !server.includes('[') ? server : JSON.stringify(server)
}
