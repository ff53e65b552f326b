/** What clients of the endpoint say and hear. */
import { once } from 'node:events'
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2'
import type { Readable } from 'node:stream'
import type { CertificatePair } from '../../src/identity/pair-file.ts'

export const SELF_REVIEW = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

type Sent = Readonly<Record<string, string | string[]>>

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export function keys(pair: CertificatePair): { cert: string; key: string } {
  return { cert: pair.certificatePem, key: pair.keyPem }
}

export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}

async function text(source: Readable): Promise<string> {
  let all = ''
  source.on('data', (chunk) => {
    all += String(chunk)
  })
  if (!source.destroyed) await once(source, 'close')
  return all
}

export async function ask(session: ClientHttp2Session, headers: Sent, body?: string): Promise<Answer> {
  const stream = session.request({ ...headers })
  stream.on('error', () => {})
  if (body !== undefined) stream.end(body)
  return await answerOn(stream)
}

async function answerOn(stream: ClientHttp2Stream): Promise<Answer> {
  const [head] = (await once(stream, 'response')) as [Record<string, unknown>]
  return { status: Number(head[':status']), headers: head, body: await text(stream) }
}

/** Whom the API server takes the caller for. */
export async function whoAmI(session: ClientHttp2Session, headers: Sent = {}): Promise<string> {
  const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' })
  const all = { ':method': 'POST', ':path': SELF_REVIEW, 'content-type': 'application/json', ...headers }
  const { status, body } = await ask(session, all, review)
  if (status === 201)
    return (JSON.parse(body) as { status: { userInfo: { username: string } } }).status.userInfo.username
  const refusal = /User \\"([^"]*)\\" cannot/.exec(body)
  return refusal?.[1] ?? `${status} ${body}`
}
