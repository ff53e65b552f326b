/** The resources that tie objects to nodes, and those that are tied. */
export const GRAPH_RESOURCES = ['pods', 'persistentvolumes', 'volumeattachments', 'resourceslices'] as const
/** The resources that must be watched to keep the graph current. */
export type GraphResource = (typeof GRAPH_RESOURCES)[number]

/** The resources that a node may only touch in relation to itself. */
export type RelatedResource =
  | GraphResource
  | 'configmaps'
  | 'persistentvolumeclaims'
  | 'resourceclaims'
  | 'secrets'
  | 'serviceaccounts'
