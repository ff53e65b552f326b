/** The names of `--authorization-mode`, apart from what they do: whoever reads settings needs no policy. */
export const AUTHORIZATION_MODES = ['Node', 'RBAC', 'AlwaysAllow', 'AlwaysDeny'] as const

export type AuthorizationMode = (typeof AUTHORIZATION_MODES)[number]

/** Node before RBAC: kubelets ask most, and are bound to no role. */
export const DEFAULT_AUTHORIZATION_MODES: readonly AuthorizationMode[] = ['Node', 'RBAC']
