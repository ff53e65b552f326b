/** Bodies and requests that are counted on their way: what readers are given, and what feeds take from the API server for it. */
import type { ByteSource } from '../../http/body/byte-source.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { ReplicaMetrics } from './replica-metrics.ts'

/** The same body; `over` is called once, however it ends. */
export function countedBody(source: ByteSource, count: (bytes: number) => void, over?: () => void): ByteSource {
  let isOver = false
  const end = (): void => {
    if (!isOver) over?.()
    isOver = true
  }
  return {
    read: (reader) =>
      source.read({
        data: (piece) => {
          count(piece.length)
          reader.data(piece)
        },
        end: () => {
          end()
          reader.end()
        },
        broken: (fault) => {
          end()
          reader.broken(fault)
        },
      }),
    pause: () => source.pause(),
    resume: () => source.resume(),
    cancel: () => {
      end()
      source.cancel()
    },
  }
}

/** The way up for feeds: bytes as they cross the link, and the watches that are open. */
export function countedUpstream(
  upstream: Pick<Upstream, 'request'>,
  metrics: Pick<ReplicaMetrics, 'received' | 'watchOpened' | 'watchEnded'>,
): Pick<Upstream, 'request'> {
  return {
    request: async (request) => {
      const answer = await upstream.request(request)
      const isWatch = answer.status === 200 && /[?&]watch=true(&|$)/.test(request.target)
      if (isWatch) metrics.watchOpened()
      const over = isWatch ? () => metrics.watchEnded() : undefined
      const body = countedBody(answer.body, (bytes) => metrics.received(bytes), over)
      return { status: answer.status, headers: answer.headers, body, trailers: () => answer.trailers() }
    },
  }
}
