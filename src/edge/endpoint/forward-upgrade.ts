/**
 * HTTP/1.1 requests that switch protocols: exec, attach and port-forward over SPDY or WebSocket. After the API server has
 * switched, bytes pass both ways unread, each half ends by itself, and what breaks on one side is cut on the other.
 */
import type { UpgradeExchange } from '../../http/server/exchange.ts'
import { relay } from '../../tunnel/relay.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { EndpointMetrics } from './endpoint-metrics.ts'
import { upgradeWithBody } from './own-answers.ts'
import type { Entry } from './request-entry.ts'
import { clientHeaders, upstreamHeaders } from './request-head.ts'
import type { RequestRecord } from './request-record.ts'
import { readyAnswer, send } from './send-answer.ts'

export interface ForwardUpgradeOptions {
  readonly upstream: Upstream
  readonly metrics: EndpointMetrics
  readonly judged: (entry: Entry, exchange: UpgradeExchange, record: RequestRecord, status: number) => void
}

export async function forwardUpgrade(
  exchange: UpgradeExchange,
  entry: Entry,
  record: RequestRecord,
  options: ForwardUpgradeOptions,
): Promise<void> {
  if (exchange.body() !== undefined) throw upgradeWithBody()
  const protocol = exchange.headers.get('upgrade') ?? ''
  const answer = await options.upstream.upgrade({
    pool: entry.pool,
    method: exchange.method,
    target: exchange.target,
    headers: upstreamHeaders(exchange.headers, { upgrade: protocol, peer: exchange.peer }),
    body: undefined,
    signal: exchange.ending,
  })
  options.judged(entry, exchange, record, answer.status)
  const headers = clientHeaders(answer.headers)
  if (!('stream' in answer)) {
    send(exchange, readyAnswer(answer, headers), record)
    return
  }
  const { stream } = answer
  if (exchange.ending.aborted) return void stream.destroy()
  record.answered(answer.status)
  const socket = exchange.switchProtocols({ ...headers, connection: 'Upgrade', upgrade: switchedTo(answer.headers) })
  void relay(stream, socket).then(({ toTunnelBytes, toSocketBytes }) =>
    options.metrics.upgraded(protocol, toTunnelBytes, toSocketBytes),
  )
}

function switchedTo(headers: readonly (readonly [string, string])[]): string {
  return headers.find(([name]) => name === 'upgrade')?.[1] ?? ''
}
