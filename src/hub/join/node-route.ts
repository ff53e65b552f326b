/**
 * GET /v1/node: an edge shows its certificate and hears what the hub makes of it. Showing a renewed one for the first time is
 * what makes its key the one that counts. It also hears which CAs to trust from now on, with the cross-certificates without
 * which an edge would not follow.
 */

import { certificatePem } from '../../identity/certificate.ts'
import { HUB_PATHS } from '../../protocol/requests.ts'
import type { Clock } from '../../runtime/clock.ts'
import { jsonResponse } from '../port/http-message.ts'
import type { Route } from '../port/http-routes.ts'
import { checkPeer } from '../port/peer-check.ts'
import type { Attempts } from './attempts.ts'

export function nodeRoute({ clock, attempts }: { readonly clock: Clock; readonly attempts: Attempts }): Route {
  return {
    method: 'GET',
    path: HUB_PATHS.node,
    handle: (request) =>
      attempts.checkIn(request, async () => {
        const { cluster } = request.door
        const { node, key, certificate } = await checkPeer(request.peer, cluster, { clock })
        const certificateEnds = new Date(certificate.notAfterMs).toISOString()
        const { trust, chainAbove } = cluster.authority()
        const known = { hubCa: certificatePem(...trust), crossCertificates: certificatePem(...chainAbove) }
        return jsonResponse(200, { node, key, certificateEnds, ...known })
      }),
  }
}
