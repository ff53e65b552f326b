/** Resources that are served for old clients, who are told so with every answer. */
import type { ResourceRequest } from '../../../kube/request-info.ts'

const warnings: Readonly<Record<string, string>> = {
  '/v1/componentstatuses': 'v1 ComponentStatus is deprecated in v1.19+',
  '/v1/endpoints': 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
}

export function deprecationOf({ apiGroup, apiVersion, resource }: ResourceRequest): string | undefined {
  return warnings[`${apiGroup}/${apiVersion}/${resource}`]
}
