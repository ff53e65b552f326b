/** Bodies as streams of Node and the other way round, so that tests can write and read them with what Node has for that. */
import type { Readable } from 'node:stream'
import type { ByteSource } from '../../src/http/body/byte-source.ts'
import { ReadableSource } from '../../src/http/body/readable-source.ts'
import { SourceStream } from '../../src/http/body/source-stream.ts'

export function sourceOf(stream: Readable, cutMessage = 'the body was cut off'): ByteSource {
  return new ReadableSource(stream, { broken: (error) => error ?? new Error(cutMessage) })
}

export function streamOf(source: ByteSource | undefined): Readable {
  if (source === undefined) throw new Error('there is no body')
  return new SourceStream(source)
}
