/**
 * Konnectivity tells failures of a dial as sentences of the Go library, and its peers look for words in them. This is the one
 * place that turns our codes into such sentences and theirs into codes.
 */
import { OpenError } from '../open-error.ts'
import type { RefusalCode } from '../prelude/answer.ts'

/** The phrases that peers look for in the text of a refusal. */
const phrases: readonly (readonly [RefusalCode, string])[] = [
  ['refused', 'connection refused'],
  ['dns', 'no such host'],
  ['timeout', 'i/o timeout'],
  ['overloaded', 'too many open files'],
]

/** Further words of peers, for what they tell us. */
const heard: readonly (readonly [RefusalCode, RegExp])[] = [
  ...phrases.map(([code, phrase]) => [code, new RegExp(phrase, 'i')] as const),
  ['timeout', /timeout|timed out|deadline exceeded/i],
  ['no-route', /no agent available/i],
  ['denied', /denied|not allowed|forbidden/i],
]

/** A sentence in which a peer finds the words it knows, and a person the reason. */
export function dialErrorText(address: string, error: OpenError): string {
  const phrase = phrases.find(([code]) => code === error.code)?.[1]
  if (phrase === undefined) return `dial tcp ${address}: ${error.code}: ${error.message}`
  return error.message.includes(phrase) ? error.message : `dial tcp ${address}: ${phrase}: ${error.message}`
}

export function dialErrorFrom(text: string): OpenError {
  const code = heard.find(([, words]) => words.test(text))?.[0] ?? 'refused'
  return new OpenError(code, text)
}
