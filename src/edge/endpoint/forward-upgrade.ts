/**
 * HTTP/1.1 requests that switch protocols: exec, attach and port-forward over SPDY or WebSocket. After the API server has
 * switched, bytes pass both ways unread, each half ends by itself, and what breaks on one side is cut on the other.
 */
import type { Duplex } from 'node:stream'
import type { UpgradeExchange } from '../../http/server/exchange.ts'
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
  join(socket, stream, (up, down) => options.metrics.upgraded(protocol, up, down))
}

function switchedTo(headers: readonly (readonly [string, string])[]): string {
  return headers.find(([name]) => name === 'upgrade')?.[1] ?? ''
}

/** `ended` is told once, with the bytes that went up and down. */
function join(client: Duplex, server: Duplex, ended: (upBytes: number, downBytes: number) => void): void {
  const up = new Pump(client, server)
  const down = new Pump(server, client)
  let open = 2
  for (const side of [client, server]) {
    const other = side === client ? server : client
    side.on('error', () => {})
    side.once('close', () => {
      // Gone in good order only if both halves had ended: then the other side closes when it has sent its last.
      if (!up.hasEnded || !down.hasEnded) other.destroy()
      open -= 1
      if (open === 0) ended(up.bytes, down.bytes)
    })
  }
  if (client.destroyed || server.destroyed) for (const side of [client, server]) side.destroy()
}

/** One direction: an end passes as an end. */
class Pump {
  bytes = 0
  hasEnded = false

  constructor(from: Duplex, to: Duplex) {
    from.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length
      if (!to.write(chunk)) from.pause()
    })
    to.on('drain', () => from.resume())
    from.once('end', () => {
      this.hasEnded = true
      to.end()
    })
  }
}
