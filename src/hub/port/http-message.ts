/** Requests and answers as the hub's routes see them: the same for HTTP/1.1 and HTTP/2, small, and whole. */
import type { IncomingHttpHeaders } from 'node:http'
import { PEM_MEDIA_TYPE } from '../../protocol/requests.ts'
import type { Refusal } from '../refusal.ts'
import type { ClusterDoor, Peer } from './connection.ts'

export interface HubRequest {
  readonly method: string
  /** Without the query, which means nothing to the hub. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly door: ClusterDoor
  readonly peer: Peer
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal
  /** The whole body. Refuses one that is too large, comes too slowly or breaks off. Called at most once. */
  body(maxBytes: number): Promise<Buffer>
}

export interface HubResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly contentType: string
  readonly body: string
}

const jsonMediaType = 'application/json'

export function pemResponse(pem: string, headers: Readonly<Record<string, string>> = {}): HubResponse {
  return { status: 200, headers, contentType: PEM_MEDIA_TYPE, body: pem }
}

export function jsonResponse(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): HubResponse {
  return { status, headers, contentType: jsonMediaType, body: `${JSON.stringify(value)}\n` }
}

export function refusalResponse(refusal: Refusal): HubResponse {
  const { status, code, message, details, retryAfterSeconds } = refusal
  const headers: Record<string, string> = {}
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  return jsonResponse(status, { code, message, ...without(details, ['code', 'message']) }, headers)
}

/** What every answer carries besides its own headers. */
export function responseHeaders({ contentType, body, headers }: HubResponse): Record<string, string> {
  return {
    'content-type': contentType,
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  }
}

function without(details: Readonly<Record<string, unknown>>, taken: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).filter(([name]) => !taken.includes(name)))
}
