/**
 * The answer of the API server on its way to the client, piece by piece as the client takes it. It ends for the client where
 * it has ended above, and is cut off where it was cut off above. Goes with every request: what is kept and made here counts.
 */
import type { ResponseHeaders, StreamedResponse, StreamingExchange } from '../../serving/exchange.ts'
import { ReadableSource } from '../upstream/readable-source.ts'
import { type AnswerSource, type HeaderPairs, type UpstreamAnswer, UpstreamError } from '../upstream/upstream.ts'
import type { RequestRecord } from './request-record.ts'

export interface ReadyAnswer {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly source: AnswerSource
  trailers(): HeaderPairs
}

/** The answer as it came, but for its headers. */
export function readyAnswer(answer: UpstreamAnswer, headers: ResponseHeaders): ReadyAnswer {
  const source = answer.source ?? new ReadableSource(answer.body)
  return { status: answer.status, headers, source, trailers: () => answer.trailers() }
}

/** Throws, with nothing sent, where the head of the answer cannot be sent. */
export function send(exchange: StreamingExchange, answer: ReadyAnswer, record: RequestRecord): void {
  // The client may have gone, or been answered by us, while the API server was thinking.
  if (exchange.ending.aborted || exchange.started) answer.source.cancel()
  else new Sending(exchange, answer, record).start(begin(exchange, answer))
}

/** A head that Node does not send, such as one with a header twice that may stand once, is the API server's fault. */
function begin(exchange: StreamingExchange, { status, headers, source }: ReadyAnswer): StreamedResponse {
  try {
    return exchange.stream(status, headers)
  } catch (error) {
    source.cancel()
    throw new UpstreamError(
      'broken',
      `the head of the API server's answer cannot be passed on: ${(error as Error).message}`,
    )
  }
}

const newline = 0x0a

class Sending {
  readonly #exchange: StreamingExchange
  readonly #answer: ReadyAnswer
  readonly #record: RequestRecord
  /** Known where nothing follows the body. */
  readonly #wholeBytes: number
  #last: Buffer | undefined
  #isWithinLine = false
  #isOver = false

  constructor(exchange: StreamingExchange, answer: ReadyAnswer, record: RequestRecord) {
    const { headers } = answer
    this.#exchange = exchange
    this.#answer = answer
    this.#record = record
    this.#wholeBytes = headers['trailer'] === undefined ? Number(headers['content-length'] ?? -1) : -1
  }

  start(out: StreamedResponse): void {
    const { status, headers, source } = this.#answer
    this.#record.whenOver(() => this.#drop())
    this.#record.answered(status)
    if (headers['content-length'] === undefined && headers['content-encoding'] === undefined)
      this.#record.endsBy(() => this.#endEarly(out))
    out.onDrain(() => source.resume())
    source.read({ data: (piece) => this.#pass(piece, out), end: () => this.#ended(out), broken: () => this.#cut() })
  }

  /** Between two events of a watch; in the middle of one, which only JSON shows, half of it must not look like the last. */
  #endEarly(out: StreamedResponse): void {
    const isJson = String(this.#answer.headers['content-type']).startsWith('application/json')
    if (isJson && this.#isWithinLine) this.#cut()
    else if (!this.#isOver) out.end()
    this.#drop()
  }

  #pass(piece: Buffer, out: StreamedResponse): void {
    const record = this.#record
    record.toClientBytes += piece.length
    this.#isWithinLine = piece[piece.length - 1] !== newline
    // The end is on its way, if not here already: it goes with the last piece.
    if (record.toClientBytes === this.#wholeBytes) this.#last = piece
    else if (!out.write(piece)) this.#answer.source.pause()
  }

  #ended(out: StreamedResponse): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#last === undefined) out.end(this.#answer.trailers())
    else out.endWith(this.#last)
  }

  #cut(): void {
    if (!this.#isOver) this.#exchange.abort()
    this.#drop()
  }

  #drop(): void {
    if (!this.#isOver) this.#answer.source.cancel()
    this.#isOver = true
  }
}
