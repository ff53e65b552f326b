/**
 * What the CONNECT front answers. API servers show their users the status line and not the body, so the code and the text of a
 * refusal stand in both.
 */
import type { RefusalCode } from '../../tunnel/prelude/answer.ts'

/** Nothing else may be in the bytes that carry it: API servers take a byte behind it for an error. */
export const CONNECTED = 'HTTP/1.1 200 Connection Established\r\n\r\n'

/** What of a text goes into the status line; the body has it whole. */
const MAX_REASON_LENGTH = 400

const statusOf: Readonly<Record<RefusalCode, number>> = {
  invalid: 400,
  denied: 403,
  refused: 502,
  dns: 502,
  'no-route': 503,
  overloaded: 503,
  timeout: 504,
}

export function refusalAnswer(code: RefusalCode, text: string): string {
  return errorAnswer(statusOf[code], `${code}: ${text}`)
}

export function errorAnswer(status: number, text: string): string {
  const body = `${text}\n`
  const headers = [
    `HTTP/1.1 ${status} ${reasonOf(text)}`,
    ...(status === 405 ? ['Allow: CONNECT'] : []),
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return `${headers.join('\r\n')}\r\n\r\n${body}`
}

/** Texts come from anywhere; only what cannot end the line goes into it. */
function reasonOf(text: string): string {
  return text
    .replace(/[^\x21-\x7e]+/g, ' ')
    .slice(0, MAX_REASON_LENGTH)
    .trim()
}
