/** Controllers that a kube-controller-manager brings too; both at once do no harm, one is enough. */
export const REPLACEABLE_CONTROLLERS = [
  'service-accounts',
  'root-ca',
  'namespaces',
  'cluster-roles',
  'certificate-signing',
  'certificate-approval',
  'certificate-cleanup',
  'resource-quotas',
] as const

export type ReplaceableController = (typeof REPLACEABLE_CONTROLLERS)[number]
