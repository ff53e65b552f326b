/**
 * How others check our tokens: the issuer's metadata and its public keys, in the form of OpenID Connect discovery. Who may
 * read them is up to authorization.
 */
import type { KeyObject } from 'node:crypto'
import { jwkSet } from '../../identity/jwk.ts'
import { genericServerResponse } from '../../kube/status/generic-response.ts'
import { respond } from '../answers/respond.ts'
import type { RequestContext } from '../request/handler.ts'
import type { Delegate } from './delegate.ts'

export const OPENID_CONFIGURATION_PATH = '/.well-known/openid-configuration'
export const JWKS_PATH = '/openid/v1/jwks'
/** A new key must be published for this long before it signs anything. */
const OPENID_MAX_AGE_SECONDS = 60 * 60

export interface OpenIdOptions {
  readonly issuer: string
  readonly keys: readonly KeyObject[]
  /** Host and port at which others reach this server. Asked for each answer: the port may be known only after the start. */
  readonly serverAddress: () => string
}

interface OpenIdDocument {
  readonly contentType: string
  body(): Buffer
}

export function openIdHandler(options: OpenIdOptions): Delegate {
  const keySet = Buffer.from(JSON.stringify(jwkSet(options.keys)))
  const documents: ReadonlyMap<string, OpenIdDocument> = new Map([
    [OPENID_CONFIGURATION_PATH, { contentType: 'application/json', body: () => configuration(options) }],
    [JWKS_PATH, { contentType: 'application/jwk-set+json', body: () => keySet }],
  ])
  return async (context) => {
    const { info } = context
    const document = info.kind === 'non-resource' ? documents.get(info.path.replace(/\/$/, '')) : undefined
    if (document === undefined) return false
    checkRequest(context, document.contentType)
    const headers = {
      'content-type': document.contentType,
      'cache-control': `public, max-age=${OPENID_MAX_AGE_SECONDS}`,
    }
    await respond(context, 200, headers, document.body())
    return true
  }
}

function configuration({ issuer, keys, serverAddress }: OpenIdOptions): Buffer {
  const algorithms = new Set(jwkSet(keys).keys.map(({ alg }) => alg))
  const metadata = {
    issuer,
    jwks_uri: `https://${serverAddress()}${JWKS_PATH}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...algorithms].sort(),
  }
  return Buffer.from(JSON.stringify(metadata))
}

function checkRequest({ exchange }: RequestContext, contentType: string): void {
  const { method, headers } = exchange
  if (method !== 'GET') throw genericServerResponse({ code: 405, method, serverMessage: '', unexpected: false })
  const accept = headers.get('accept') ?? ''
  if (accept === '') return
  const wanted = accept.split(',').map((clause) => (clause.split(';')[0] ?? '').trim())
  if (wanted.some((mediaType) => mediaType === '*/*' || mediaType === contentType)) return
  const serverMessage = `406: Not Acceptable\n\nAvailable representations: ${contentType}`
  throw genericServerResponse({ code: 406, method: '', serverMessage, unexpected: false })
}
