/** An answer whose bytes come from a stream of Node: where that breaks, the connection to the API server has. */
import type { Readable } from 'node:stream'
import type { ByteSource } from '../../http/body/byte-source.ts'
import { ReadableSource, type ReadableSourceOptions } from '../../http/body/readable-source.ts'
import { brokenBy } from './upstream-error.ts'

export type AnswerSourceOptions = Omit<ReadableSourceOptions, 'broken'>

export function answerSource(stream: Readable, options: AnswerSourceOptions = {}): ByteSource {
  return new ReadableSource(stream, { ...options, broken: brokenBy })
}
