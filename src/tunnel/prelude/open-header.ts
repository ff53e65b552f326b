/** What the opener of a stream says first: where to, for whom, how long it will wait, and under which trace. */
import { encodeMessage, PreludeError, type PreludeMessage } from './message.ts'
import { decodeText, decodeTraceId, decodeUint32, encodeText, encodeTraceId, encodeUint32 } from './values.ts'

/** A DNS name of 253 characters with a port fits. */
export const MAX_TARGET_BYTES = 320

/** A service account's user name with namespace and name of the longest kind fits. */
export const MAX_SOURCE_BYTES = 1024

export interface OpenHeader {
  /** A name the answerer knows, or `host:port` where its policy allows that. */
  readonly target: string
  /** On whose behalf, for logs and policy. A claim of the opener: the session's certificate is what proves anything. */
  readonly source?: string | undefined
  /** How long the opener waits for the answer. Relative, because clocks differ. */
  readonly deadlineMs?: number | undefined
  /** 32 hexadecimal digits, as in W3C trace context. */
  readonly traceId?: string | undefined
  /** Bits of the features the opener would use; the answer names those that are. */
  readonly features?: number | undefined
}

const Tag = { target: 1, source: 2, deadlineMs: 3, traceId: 4, features: 5 } as const

/** The code of an open header; answers have codes of their own. */
const openCode = 0

export function encodeOpenHeader(header: OpenHeader): Buffer {
  if (header.target === '') throw new PreludeError('target must not be empty')
  const fields = new Map<number, Uint8Array>()
  fields.set(Tag.target, encodeText('target', header.target, MAX_TARGET_BYTES))
  if (header.source !== undefined) fields.set(Tag.source, encodeText('source', header.source, MAX_SOURCE_BYTES))
  if (header.deadlineMs !== undefined) fields.set(Tag.deadlineMs, encodeUint32('deadline', header.deadlineMs))
  if (header.traceId !== undefined) fields.set(Tag.traceId, encodeTraceId(header.traceId))
  if (header.features !== undefined) fields.set(Tag.features, encodeUint32('features', header.features))
  return encodeMessage(openCode, fields)
}

export function decodeOpenHeader({ code, fields }: PreludeMessage): OpenHeader {
  if (code !== openCode) throw new PreludeError(`open header has code ${code}; it must be ${openCode}`)
  const target = fields.get(Tag.target)
  if (target === undefined || target.length === 0) throw new PreludeError('open header names no target')
  const source = fields.get(Tag.source)
  const deadlineMs = fields.get(Tag.deadlineMs)
  const traceId = fields.get(Tag.traceId)
  const features = fields.get(Tag.features)
  return {
    target: decodeText('target', target, MAX_TARGET_BYTES),
    source: source && decodeText('source', source, MAX_SOURCE_BYTES),
    deadlineMs: deadlineMs && decodeUint32('deadline', deadlineMs),
    traceId: traceId && decodeTraceId(traceId),
    features: features && decodeUint32('features', features),
  }
}
