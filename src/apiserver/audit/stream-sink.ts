/** Audit events on a stream of the process, for those who collect its output. */
import type { RunningPart } from '../../process/lifecycle.ts'
import { type AuditSink, MAX_AUDIT_QUEUE_BYTES } from './sink.ts'

interface TextStream {
  write(text: string): unknown
  /** What was written and has not left yet; absent where nothing ever waits. */
  readonly writableLength?: number
}

export class StreamSink implements AuditSink {
  readonly name = 'audit-log'
  readonly #stream: TextStream
  #lost: (count: number) => void = () => {}

  constructor(stream: TextStream) {
    this.#stream = stream
  }

  onLost(listener: (count: number) => void): void {
    this.#lost = listener
  }

  append(line: string): void {
    if ((this.#stream.writableLength ?? 0) + line.length > MAX_AUDIT_QUEUE_BYTES) this.#lost(1)
    else this.#stream.write(`${line}\n`)
  }

  start(): Promise<RunningPart> {
    return Promise.resolve({ stop: () => Promise.resolve() })
  }
}
