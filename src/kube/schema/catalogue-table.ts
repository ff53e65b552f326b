/** The on-disk form of `data/schema/catalogue.json`: every built-in resource as discovery presents it. */

export interface SubresourceRow {
  name: string
  kind: string
  /** `group/version` of the kind, where it is not that of the resource (a Scale, an Eviction). */
  groupVersion?: string
  verbs: string[]
}

export interface ResourceRow {
  resource: string
  kind: string
  singular: string
  namespaced: boolean
  verbs: string[]
  shortNames?: string[]
  categories?: string[]
  /** `group/version` in which an API server stores the objects; absent for what is never stored (reviews). */
  stored?: string
  subresources?: SubresourceRow[]
}

export interface GroupVersionRow {
  group: string
  version: string
  /** Whether this is the version that a client should prefer among those of its group. */
  preferred: boolean
  resources: ResourceRow[]
}

export interface CatalogueTable {
  /** In the order in which discovery lists them. */
  groups: GroupVersionRow[]
}
