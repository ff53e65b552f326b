/** GET /ca.crt and GET /k8s/ca.crt: what an edge has to trust. Public; the edge compares both with what its token says. */

import { certificatePem } from '../../identity/certificate.ts'
import { HUB_PATHS } from '../../protocol/requests.ts'
import { pemResponse } from '../port/http-message.ts'
import type { Route } from '../port/http-routes.ts'

export const CA_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: HUB_PATHS.hubCa,
    // The signing CA first; those before it, so that a token from before a roll-over still finds the one it names.
    handle: async ({ door }) => pemResponse(certificatePem(...door.cluster.authority().trust)),
  },
  {
    method: 'GET',
    path: HUB_PATHS.kubernetesCa,
    handle: async ({ door }) => pemResponse(door.cluster.kubernetes().caPem),
  },
]
