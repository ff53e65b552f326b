/** What the endpoint itself answers, always as a Status: what kubectl prints and what clients act on. */

import type { Exchange } from '../../http/server/exchange.ts'
import { serviceUnavailable, tooManyRequests } from '../../kube/status/availability-errors.ts'
import { ApiError } from '../../kube/status/status.ts'
import { toHttp } from '../../kube/status/to-http.ts'
import { UpstreamError } from '../upstream/upstream.ts'
import { brokeOff } from '../upstream/upstream-error.ts'
import type { Refused } from './caller-limits.ts'

/** When a caller that was refused for its own rate may come back. */
const SLOW_DOWN_SECONDS = 1

/** Go's client repeats ten times by itself what carries a Retry-After: kubectl would be silent for ten times as long. */
const MAX_RETRY_AFTER_SECONDS = 1

/**
 * Says when to come again as a date, which HTTP allows as well. Go's client repeats by itself, and holds its caller, for numbers
 * only: so a program that repeats what it has to say anyway is free at once.
 */
class UnavailableUntilError extends ApiError {
  readonly retryAtMs: number

  constructor(message: string, retryAtMs: number) {
    super({ code: 503, reason: 'ServiceUnavailable', message })
    this.retryAtMs = retryAtMs
  }
}

/** Returns the code of the answer. */
export function answerError(exchange: Exchange, error: unknown): number {
  const { code, headers: usual, status } = toHttp(error)
  const headers =
    error instanceof UnavailableUntilError
      ? { ...usual, 'retry-after': new Date(error.retryAtMs).toUTCString() }
      : usual
  const body = Buffer.from(`${JSON.stringify(status)}\n`)
  exchange.respond(code, { ...headers, 'content-type': 'application/json', 'cache-control': 'no-cache, private' }, body)
  return code
}

/**
 * `undefined` for what is no error of the way to the API server. Names and addresses of that way are only for callers who
 * have shown who they are.
 */
export function upstreamFailure(error: unknown, method: string, isProven: boolean): ApiError | undefined {
  if (!(error instanceof UpstreamError)) return undefined
  const { kind } = error
  const why = isProven ? error.message : 'the log of the edge on this node says why'
  const retrySeconds = Math.min(error.retryAfterSeconds, MAX_RETRY_AFTER_SECONDS)
  // Clients repeat by themselves whatever carries a Retry-After. A write that may have been carried out must not be; all
  // kinds but this one mean that it was never sent.
  if (kind === 'broken') {
    const isSafe = method === 'GET' || method === 'HEAD'
    return failure(502, 'BadGateway', isProven ? why : `${brokeOff}: ${why}`, isSafe ? retrySeconds : 0)
  }
  if (kind === 'timeout')
    return failure(504, 'Timeout', `the API server cannot be reached in time: ${why}`, retrySeconds)
  const problem =
    kind === 'overloaded'
      ? 'the way from this node to the API server is overloaded'
      : 'the API server cannot be reached from this node'
  const message = `${problem}: ${why}`
  return error.retryAtMs === undefined
    ? serviceUnavailable(message, retrySeconds)
    : new UnavailableUntilError(message, error.retryAtMs)
}

/** kubectl prints the reason before the message, so no message begins with it. */
function failure(code: number, reason: string, message: string, retryAfterSeconds: number): ApiError {
  return new ApiError({ code, reason, message, details: { retryAfterSeconds } })
}

const refusals: Readonly<Record<Refused, string>> = {
  rate: 'this client sends more requests than the endpoint of this node passes on for one client; slow down',
  'in-flight': 'this client has too many requests under way at the endpoint of this node',
  'long-running': 'this client has too many watches and streams open at the endpoint of this node',
  upgrades: 'this client has too many exec, attach and port-forward connections open at the endpoint of this node',
}

export function limitFailure(refused: Refused): ApiError {
  return tooManyRequests(refusals[refused], SLOW_DOWN_SECONDS)
}

export function requestStalled(stallMs: number): ApiError {
  const message = `nothing of the request body has come for ${stallMs / 1000} seconds`
  return new ApiError({ code: 408, reason: 'Timeout', message })
}

/** A body after a request to switch protocols: one reader would take it for the body, the next for the new protocol. */
export function upgradeWithBody(): ApiError {
  const message = 'a request to switch protocols must not have a body'
  return new ApiError({ code: 400, reason: 'BadRequest', message })
}
