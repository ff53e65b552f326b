/** The edge's end of the WebSocket handshake, on a connection that is already encrypted. */

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import { HUB_PATHS } from '../../protocol/requests.ts'
import { INNER_TLS_PROTOCOL, type TunnelProtocol } from '../../protocol/versions.ts'
import { type Patience, within } from './deadline.ts'
import { DialError, type UpgradeRefusal } from './dial-error.ts'
import { WEBSOCKET_OPTIONS, WebSocketStream } from './websocket-stream.ts'

/** Bytes of a refusal; a hub's is a few hundred, and what else may answer here does not matter. */
const MAX_UPGRADE_ANSWER_BYTES = 64 * 1024

export interface WebSocketDialOptions extends Patience {
  readonly url: URL
  readonly protocol: TunnelProtocol
  readonly what: string
  readonly limitMs: number
}

export async function upgradeToWebSocket(socket: Socket, options: WebSocketDialOptions): Promise<WebSocketStream> {
  const { what, limitMs } = options
  const late = (): Error =>
    new DialError('timeout', 'upgrade', `${what} did not answer the request for a WebSocket within ${limitMs / 1000} s`)
  try {
    return await within(options, limitMs, late, (signal) => negotiate(socket, options, signal))
  } catch (error) {
    socket.destroy()
    if (error instanceof DialError || options.signal.aborted) throw error
    const advice = 'what is on the way may not let WebSockets through'
    throw new DialError('upgrade', 'upgrade', `no WebSocket from ${what}: ${(error as Error).message}; ${advice}`, {
      cause: error,
    })
  }
}

function negotiate(socket: Socket, options: WebSocketDialOptions, signal: AbortSignal): Promise<WebSocketStream> {
  const { url, protocol, what, clock } = options
  return new Promise((resolve, reject) => {
    const webSocket = new WebSocket(new URL(HUB_PATHS.tunnel, url), [protocol], {
      ...WEBSOCKET_OPTIONS,
      ...(protocol === INNER_TLS_PROTOCOL ? {} : { generateMask: noMask }),
      createConnection: () => socket,
    })
    const giveUp = (): void => webSocket.terminate()
    signal.addEventListener('abort', giveUp, { once: true })
    webSocket.on('error', reject)
    webSocket.once('unexpected-response', (_request, answer: IncomingMessage) => {
      readRefusal(answer, protocol).then((refusal) => reject(refused(what, answer, refusal)), reject)
    })
    // The stream has to be there before the first message is delivered, so it is made here and not by who awaits it.
    webSocket.once('open', () => {
      signal.removeEventListener('abort', giveUp)
      resolve(new WebSocketStream(webSocket, socket, clock))
    })
  })
}

/**
 * Masks keep pages in browsers from writing bytes of their choice to proxies that can read along. Here TLS reaches to the hub
 * itself, so nobody can, and masking would cost more than the encryption. Under inner TLS somebody may: there we mask.
 */
function noMask(mask: Buffer): void {
  mask.fill(0)
}

async function readRefusal(answer: IncomingMessage, protocol: TunnelProtocol): Promise<UpgradeRefusal | undefined> {
  const chunks: Buffer[] = []
  let total = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    total += chunk.length
    if (total > MAX_UPGRADE_ANSWER_BYTES) return undefined
    chunks.push(chunk)
  }
  const refusal = parseRefusal(answer, Buffer.concat(chunks).toString())
  return refusal !== undefined && protocol === INNER_TLS_PROTOCOL ? { ...refusal, isUnproven: true } : refusal
}

function parseRefusal({ statusCode = 0, headers }: IncomingMessage, body: string): UpgradeRefusal | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return undefined
  }
  const { code, message } = (parsed ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  if (typeof code !== 'string' || typeof message !== 'string') return undefined
  const retryAfter = headers['retry-after'] ?? ''
  const retryAfterSeconds = /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined
  return { status: statusCode, code, message, retryAfterSeconds }
}

function refused(what: string, { statusCode }: IncomingMessage, refusal: UpgradeRefusal | undefined): DialError {
  if (refusal === undefined) {
    const advice = 'it is no hub, or what is in front of the hub does not let WebSockets through'
    return new DialError(
      'upgrade',
      'upgrade',
      `${what} answered the request for a WebSocket with ${statusCode}: ${advice}`,
    )
  }
  const { code, message } = refusal
  if (code !== 'certificate-missing')
    return new DialError('upgrade', 'upgrade', `${what} refuses: ${message} (${code})`, { refusal })
  const advice = 'something on the way opens TLS and keeps our certificate from the hub; use --inner-tls'
  return new DialError('intercepted', 'upgrade', `${what} refuses: ${message} (${code}); ${advice}`, { refusal })
}
