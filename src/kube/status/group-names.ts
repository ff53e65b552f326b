/** Names that carry their API group, printed as the API server prints them: `pods`, `deployments.apps`. */
export interface GroupResource {
  readonly group: string
  readonly resource: string
}

export interface GroupKind {
  readonly group: string
  readonly kind: string
}

export function formatGroupResource({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`
}

export function formatGroupKind({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`
}

export function isEmptyGroupResource({ group, resource }: GroupResource): boolean {
  return group === '' && resource === ''
}
