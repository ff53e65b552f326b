/** GET /ca.crt and GET /k8s/ca.crt: what an edge has to trust. Public; the edge compares both with what its token says. */
import { certificatePem } from '../../identity/certificate.ts'
import { pemResponse } from '../serving/http-message.ts'
import type { Route } from '../serving/http-routes.ts'

export const HUB_CA_PATH = '/ca.crt'
export const KUBERNETES_CA_PATH = '/k8s/ca.crt'

export const CA_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: HUB_CA_PATH,
    // The signing CA first; those before it, so that a token from before a roll-over still finds the one it names.
    handle: async ({ door }) => pemResponse(certificatePem(...door.cluster.authority().trust)),
  },
  {
    method: 'GET',
    path: KUBERNETES_CA_PATH,
    handle: async ({ door }) => pemResponse(door.cluster.kubernetes().caPem),
  },
]
