/**
 * The answer of the API server on its way to the client, piece by piece as the client takes it. It ends for the client where
 * it has ended above, and is cut off where it was cut off above, unless it is a watch between two events. Goes with every
 * request: what is kept and made here counts.
 */
import type { ByteSource } from '../../http/body/byte-source.ts'
import type { ResponseHeaders, StreamedResponse, StreamingExchange } from '../../http/server/exchange.ts'
import { type HeaderPairs, type UpstreamAnswer, UpstreamError } from '../upstream/upstream.ts'
import type { RequestRecord } from './request-record.ts'
import { type WatchEvents, watchEventsOf } from './watch-events.ts'

export interface ReadyAnswer {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly source: ByteSource
  trailers(): HeaderPairs
}

/** The answer as it came, but for its headers. */
export function readyAnswer(answer: UpstreamAnswer, headers: ResponseHeaders): ReadyAnswer {
  return { status: answer.status, headers, source: answer.body, trailers: () => answer.trailers() }
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

class Sending {
  readonly #exchange: StreamingExchange
  readonly #answer: ReadyAnswer
  readonly #record: RequestRecord
  /** Known where nothing follows the body. */
  readonly #wholeBytes: number
  #last: Buffer | undefined
  /** Where the events of a watch end: its answer may end between two of them, whatever has become of the API server's. */
  readonly #events: WatchEvents | undefined
  #isOver = false

  constructor(exchange: StreamingExchange, answer: ReadyAnswer, record: RequestRecord) {
    const { status, headers } = answer
    this.#exchange = exchange
    this.#answer = answer
    this.#record = record
    this.#wholeBytes = headers['trailer'] === undefined ? Number(headers['content-length'] ?? -1) : -1
    const isStream = headers['content-length'] === undefined && headers['content-encoding'] === undefined
    const isWatch = record.isWatch && status === 200 && isStream
    this.#events = isWatch ? watchEventsOf(String(headers['content-type'])) : undefined
  }

  start(out: StreamedResponse): void {
    const { status, source } = this.#answer
    this.#record.whenOver(() => this.#drop())
    this.#record.answered(status)
    if (this.#events !== undefined) this.#record.endsBy(() => this.#endEarly(out))
    // Called by the connection to the API server, which other exchanges share.
    const { guard } = this.#exchange
    out.onDrain(() => guard(() => source.resume()))
    source.read({
      data: (piece) => guard(() => this.#pass(piece, out)),
      end: () => guard(() => this.#ended(out)),
      broken: () => guard(() => this.#endEarly(out)),
    })
  }

  /** A client whose watch ends in good order goes on from its last event; one whose watch breaks fetches everything again. */
  #endEarly(out: StreamedResponse): void {
    if (this.#isOver) return
    if (this.#events?.isBetween === true) out.end()
    else this.#exchange.abort()
    this.#drop()
  }

  #pass(piece: Buffer, out: StreamedResponse): void {
    const record = this.#record
    record.toClientBytes += piece.length
    this.#events?.pass(piece)
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

  #drop(): void {
    if (!this.#isOver) this.#answer.source.cancel()
    this.#isOver = true
  }
}
