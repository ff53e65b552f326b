/** Sends an error as a Status, in the encoding that the client negotiated. */

import { negotiateErrorOutput } from '../../kube/negotiation.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { MEDIA_TYPES } from '../../kube/representation.ts'
import { toHttp } from '../../kube/status/to-http.ts'
import type { RequestContext } from '../chain/handler.ts'
import { encodeBody } from './encode-body.ts'
import { respond } from './respond.ts'

export async function respondError(context: RequestContext, error: unknown): Promise<void> {
  const { code, headers, status } = toHttp(error)
  context.failure = status
  const { encoding, pretty } = negotiateErrorOutput({
    accept: context.exchange.headers.get('accept'),
    userAgent: context.exchange.headers.get('user-agent'),
    pretty: context.query.first('pretty'),
    stream: false,
  })
  const body = encodeBody(status as unknown as KubeObject, encoding, pretty)
  await respond(context, code, { ...headers, 'content-type': MEDIA_TYPES[encoding] }, body)
}
