/** Errors made from nothing but an HTTP code: what a client makes of an answer without a Status, and a router of its own refusals. */
import { goQuote } from './go-text.ts'
import { formatGroupResource, type GroupResource, isEmptyGroupResource } from './group-names.ts'
import { ApiError, type ApiFailure, type StatusReason } from './status.ts'

export interface GenericResponse {
  readonly code: number
  /** HTTP method of the request; a 409 to a POST means that the object exists. */
  readonly method: string
  readonly resource?: GroupResource | undefined
  readonly name?: string | undefined
  readonly serverMessage: string
  readonly retryAfterSeconds?: number
  /** True when the answer did not look like one of an API server, a proxy's error page for instance. */
  readonly unexpected: boolean
}

interface Explanation {
  readonly reason: StatusReason
  readonly message: string
}

const explanations: Readonly<Record<number, Explanation>> = {
  400: { reason: 'BadRequest', message: 'the server rejected our request for an unknown reason' },
  401: { reason: 'Unauthorized', message: 'the server has asked for the client to provide credentials' },
  404: { reason: 'NotFound', message: 'the server could not find the requested resource' },
  405: { reason: 'MethodNotAllowed', message: 'the server does not allow this method on the requested resource' },
  409: { reason: 'Conflict', message: 'the server reported a conflict' },
  422: { reason: 'Invalid', message: 'the server rejected our request due to an error in our request' },
  429: {
    reason: 'TooManyRequests',
    message: 'the server has received too many requests and has asked us to try again later',
  },
  503: { reason: 'ServiceUnavailable', message: 'the server is currently unable to handle the request' },
  504: {
    reason: 'Timeout',
    message: 'the server was unable to return a response in the time allotted, but may still be processing the request',
  },
}

/** Codes whose answer says more in the server's own words: who may not do what, which types are accepted. */
const serverWorded: Readonly<Record<number, StatusReason>> = {
  403: 'Forbidden',
  406: 'NotAcceptable',
  415: 'UnsupportedMediaType',
}

const withoutServerWords: Readonly<Record<number, string>> = {
  403: 'the server refused the request and did not say why',
  406: 'the server was unable to respond with a content type that the client supports',
  415: 'the server does not read the content type of the request',
}

export function genericServerResponse(response: GenericResponse): ApiError {
  const { reason, message } = explain(response)
  const { resource, name = '', retryAfterSeconds = 0 } = response
  return new ApiError({
    code: response.code,
    reason,
    message: `${message}${requestSuffix(response)}`,
    details: {
      name,
      group: resource?.group ?? '',
      kind: resource?.resource ?? '',
      causes: response.unexpected ? [{ reason: 'UnexpectedServerResponse', message: response.serverMessage }] : [],
      retryAfterSeconds,
    },
  })
}

/** A failure always says something: its code speaks where the server sent a Status without a message. */
export function withExplanation(failure: ApiFailure, request: Partial<GenericResponse> = {}): ApiFailure {
  if (failure.message !== '') return failure
  const response = { method: '', ...request, code: failure.code, serverMessage: 'unknown', unexpected: false }
  return { ...failure, message: `${explain(response).message}${requestSuffix(response)}` }
}

function explain({ code, method, serverMessage }: GenericResponse): Explanation {
  const reason = serverWorded[code]
  if (reason !== undefined) return { reason, message: worded(code, serverMessage) }
  const known = explanations[code]
  if (known !== undefined) return code === 409 && method === 'POST' ? { ...known, reason: 'AlreadyExists' } : known
  if (code >= 500) {
    const message = `an error on the server (${goQuote(serverMessage)}) has prevented the request from succeeding`
    return { reason: 'InternalError', message }
  }
  return {
    reason: '',
    message: `the server responded with the status code ${code} but did not return more information`,
  }
}

function worded(code: number, serverMessage: string): string {
  const saysNothing = serverMessage === '' || serverMessage === 'unknown'
  return saysNothing ? (withoutServerWords[code] ?? serverMessage) : serverMessage
}

function requestSuffix({ method, resource, name = '' }: GenericResponse): string {
  if (resource === undefined || isEmptyGroupResource(resource)) return ''
  const subject = name === '' ? formatGroupResource(resource) : `${formatGroupResource(resource)} ${name}`
  return ` (${method.toLowerCase()} ${subject})`
}
