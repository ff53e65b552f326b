/** What the answerer of a stream says first: whether the target was reached, and if not, why. */
import { encodeMessage, PreludeError, type PreludeMessage } from './message.ts'
import { decodeText, decodeUint32, encodeUint32 } from './values.ts'

/** Text for people; longer ones are cut. */
export const MAX_ANSWER_TEXT_BYTES = 1024

/** In the order of their numbers on the wire. */
const codes = ['ok', 'refused', 'timeout', 'dns', 'denied', 'overloaded', 'no-route', 'invalid'] as const

export type AnswerCode = (typeof codes)[number]
export type RefusalCode = Exclude<AnswerCode, 'ok'>

export interface OpenAnswer {
  readonly code: AnswerCode
  readonly text: string
  /** Bits of the features that are used on this stream. */
  readonly features: number
}

const Tag = { text: 1, features: 2 } as const

/** What nearly every stream is answered. */
const plainOk = encodeMessage(0, new Map())

/** The bytes are shared: whoever sends them must not change them. */
export function encodeAnswer({ code, text, features }: OpenAnswer): Buffer {
  if (code === 'ok' && text === '' && features === 0) return plainOk
  const fields = new Map<number, Uint8Array>()
  if (text !== '') fields.set(Tag.text, presentable(text))
  if (features !== 0) fields.set(Tag.features, encodeUint32('features', features))
  return encodeMessage(codes.indexOf(code), fields)
}

/** A code of a later version counts as `refused`: the target was not reached, and the text says why. */
export function decodeAnswer({ code, fields }: PreludeMessage): OpenAnswer {
  const text = fields.get(Tag.text)
  const features = fields.get(Tag.features)
  const answer = {
    code: codes[code] ?? ('refused' as const),
    text: text === undefined ? '' : decodeText('text', text, MAX_ANSWER_TEXT_BYTES),
    features: features === undefined ? 0 : decodeUint32('features', features),
  }
  if (answer.code !== 'ok' && answer.features !== 0) throw new PreludeError('a refusal names features')
  return answer
}

/** Error texts come from anywhere: control characters become spaces, and the end is cut at a whole character. */
function presentable(text: string): Uint8Array {
  const bytes = Buffer.from(text.replace(/\p{Cc}/gu, ' '))
  if (bytes.length <= MAX_ANSWER_TEXT_BYTES) return bytes
  let end = MAX_ANSWER_TEXT_BYTES
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end)
}
