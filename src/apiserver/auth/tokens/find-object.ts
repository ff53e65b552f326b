/** What tokens have to be checked against, and who finds it: the objects that they are about. */
import type { KubeObject } from '../../../kube/objects.ts'

export type TokenResource = 'serviceaccounts' | 'pods' | 'secrets' | 'nodes'

/** The namespace is empty for nodes. Callers only look: the same object may be handed out again. */
export type FindObject = (resource: TokenResource, namespace: string, name: string) => Promise<KubeObject | undefined>

export interface PodSpec {
  readonly serviceAccountName?: string
  readonly nodeName?: string
}
