/** All filters, in the one order in which they apply. A new filter adds its line here. */
import type { ObjectFilter } from './filter.ts'
import { forwardKubeSvcTraffic } from './forward-kube-svc-traffic.ts'
import { inClusterConfig } from './in-cluster-config.ts'
import { localEndpoints } from './local-endpoints.ts'
import { masterService } from './master-service.ts'
import { serviceEnv } from './service-env.ts'

export const OBJECT_FILTERS: readonly ObjectFilter[] = [
  masterService,
  forwardKubeSvcTraffic,
  inClusterConfig,
  serviceEnv,
  localEndpoints,
]
