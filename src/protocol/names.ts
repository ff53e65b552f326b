/** Names on which hubs and edges agree without telling each other. */

/** The target that every hub has: the API server of the edge's cluster. The hub knows its port, so one that is given says nothing. */
export const API_SERVER_TARGET = 'kube-apiserver'

/** Where a hub keeps its objects in the cluster unless it is told otherwise. */
export const USUAL_HUB_NAMESPACE = 'causeway-system'
