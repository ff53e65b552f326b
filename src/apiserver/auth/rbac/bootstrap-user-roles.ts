/** The roles that people are bound to, and what everybody may see of a server. */
import { paths, READ, READ_WRITE, type RuleTable, rule, WRITE } from './bootstrap-rules.ts'

export const USER_RULES: RuleTable = {
  'cluster-admin': [rule('*', '*', '*'), paths('*', '*')],
  'system:aggregate-to-admin': [
    rule('create', 'authorization.k8s.io', 'localsubjectaccessreviews'),
    rule(READ_WRITE, 'rbac.authorization.k8s.io', 'rolebindings roles'),
  ],
  'system:aggregate-to-edit': [
    rule(READ, 'core', 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy'),
    rule('impersonate', 'core', 'serviceaccounts'),
    rule(WRITE, 'core', 'pods pods/attach pods/exec pods/portforward pods/proxy'),
    rule('create', 'core', 'pods/eviction'),
    rule(
      WRITE,
      'core',
      'configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy',
    ),
    rule('create', 'core', 'serviceaccounts/token'),
    rule(WRITE, 'core events.k8s.io', 'events'),
    rule(
      WRITE,
      'apps',
      'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale',
    ),
    rule(WRITE, 'autoscaling', 'horizontalpodautoscalers'),
    rule(WRITE, 'batch', 'cronjobs jobs'),
    rule(
      WRITE,
      'extensions',
      'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale',
    ),
    rule(WRITE, 'policy', 'poddisruptionbudgets'),
    rule(WRITE, 'networking.k8s.io', 'ingresses networkpolicies'),
    rule(READ_WRITE, 'coordination.k8s.io', 'leases'),
    rule(WRITE, 'resource.k8s.io', 'resourceclaims resourceclaimtemplates'),
  ],
  'system:aggregate-to-view': [
    rule(
      READ,
      'core',
      'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status',
    ),
    rule(
      READ,
      'core',
      'bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status',
    ),
    rule(READ, 'core', 'namespaces'),
    rule(READ, 'core events.k8s.io', 'events'),
    rule(READ, 'discovery.k8s.io', 'endpointslices'),
    rule(
      READ,
      'apps',
      'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
    ),
    rule(READ, 'autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status'),
    rule(READ, 'batch', 'cronjobs cronjobs/status jobs jobs/status'),
    rule(
      READ,
      'extensions',
      'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale',
    ),
    rule(READ, 'policy', 'poddisruptionbudgets poddisruptionbudgets/status'),
    rule(READ, 'networking.k8s.io', 'ingresses ingresses/status networkpolicies'),
    rule(READ, 'resource.k8s.io', 'resourceclaims resourceclaims/status resourceclaimtemplates'),
  ],
  'system:basic-user': [
    rule('create', 'authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews'),
    rule('create', 'authentication.k8s.io', 'selfsubjectreviews'),
  ],
  'system:discovery': [
    paths('get', '/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/'),
  ],
  'system:monitoring': [
    paths('get', '/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz'),
    rule('get', 'core', 'nodes/metrics'),
  ],
  'system:public-info-viewer': [paths('get', '/healthz /livez /readyz /version /version/')],
  'system:service-account-issuer-discovery': [
    paths(
      'get',
      '/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/',
    ),
  ],
}
