/** Documents of the API server, asked for under whatever credential of this node may read them. */
import type { ByteSource } from '../../../http/body/byte-source.ts'
import { readBody } from '../../../http/body/request-body.ts'
import { BodyTooLargeError } from '../../../http/server/exchange.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { PoolName, Upstream } from '../../upstream/upstream.ts'
import type { FetchDocument } from './signing-keys.ts'

/** For the whole of one document, which has a few thousand bytes. */
export const DOCUMENT_TIMEOUT_MS = 10_000

export interface FetchDocumentOptions {
  readonly upstream: Pick<Upstream, 'request'>
  /** Of a ServiceAccount, as that of kube-proxy; without one the certificate of the node has to do. */
  readonly token: () => string | undefined
  readonly clock: Clock
}

const headers = [
  // kube-apiserver gives its key set under the second name only, and 406 to who does not name it.
  ['accept', 'application/json, application/jwk-set+json'],
  ['accept-encoding', 'identity'],
  ['user-agent', 'causeway-endpoint'],
] as const

export function createFetchDocument({ upstream, token: tokenOf, clock }: FetchDocumentOptions): FetchDocument {
  return async (target, limitBytes, signal) => {
    signal.throwIfAborted()
    const giveUp = new AbortController()
    const obey = (): void => giveUp.abort(signal.reason)
    signal.addEventListener('abort', obey, { once: true })
    const late = new Error(`no answer to ${target} within ${DOCUMENT_TIMEOUT_MS / 1000} s`)
    const cancelTimer = clock.schedule(DOCUMENT_TIMEOUT_MS, () => giveUp.abort(late))
    try {
      const token = tokenOf()
      const pool: PoolName = token === undefined ? 'node' : 'token'
      const credential = token === undefined ? [] : [['authorization', `Bearer ${token}`] as const]
      const asked = { pool, method: 'GET', target, headers: [...headers, ...credential], body: undefined }
      const { status, body } = await upstream.request({ ...asked, signal: giveUp.signal })
      return { status, text: await readText(body, target, limitBytes) }
    } finally {
      cancelTimer()
      signal.removeEventListener('abort', obey)
    }
  }
}

async function readText(body: ByteSource, target: string, limitBytes: number): Promise<string> {
  try {
    return (await readBody(body, undefined, limitBytes)).toString('utf8')
  } catch (error) {
    if (!(error instanceof BodyTooLargeError)) throw error
    throw new Error(`${target} is longer than ${limitBytes} bytes`, { cause: error })
  }
}
