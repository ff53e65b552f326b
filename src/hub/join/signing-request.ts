/** A signing request as it comes over HTTP: PEM, whatever the client calls it, or DER where the client says so. */
import { type CertificateRequest, MAX_REQUEST_BYTES, parseRequest, readRequest } from '../../identity/csr.ts'
import { IdentityError, type IdentityErrorCode } from '../../identity/errors.ts'
import type { HubRefusalCode } from '../../protocol/refusals.ts'
import type { HubRequest } from '../port/http-message.ts'
import { Refusal } from '../refusal.ts'

/** The largest request that is read at all, in PEM, which takes less than twice the room of its bytes. */
const MAX_SIGNING_REQUEST_BODY_BYTES = 2 * MAX_REQUEST_BYTES
const derMediaType = 'application/pkcs10'
const source = 'the signing request'

/** Reading the request stands apart from understanding it: a slow client must not hold a place among those who are worked on. */
export async function readSigningRequestBody(request: HubRequest): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity')
    throw new Refusal('media-type', 'send the signing request as it is, without a content encoding')
  return await request.body(MAX_SIGNING_REQUEST_BODY_BYTES)
}

/** The request in the body, its proof of possession checked. */
export async function parseSigningRequest(request: HubRequest, body: Buffer): Promise<CertificateRequest> {
  const [mediaType = ''] = (request.headers['content-type'] ?? '').split(';', 1)
  try {
    const isDer = mediaType.trim().toLowerCase() === derMediaType
    return isDer ? await parseRequest(body, source) : await readRequest(body, source)
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error
    const hint = error.code === 'none-found' ? '; send the file unchanged: curl --data-binary @FILE' : ''
    throw new Refusal(codeOf(error.code), `${error.message}${hint}`, { cause: error })
  }
}

function codeOf(code: IdentityErrorCode): HubRefusalCode {
  switch (code) {
    case 'bad-proof':
      return 'bad-proof'
    case 'too-large':
      return 'body-too-large'
    case 'weak-key':
    case 'unsupported-key':
    case 'unsupported-algorithm':
      return 'key-unsuitable'
    default:
      return 'bad-request'
  }
}
