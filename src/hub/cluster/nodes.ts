/** Which nodes the cluster has, whoever made them. */
import type { KubeClient } from '../../kube/client/client.ts'
import { nodes } from '../../kube/client/kinds.ts'
import { onBehalfOfEdge } from '../shared/cluster-error.ts'
import { getIfPresent } from '../shared/shared-object.ts'
import type { ClusterNodes } from './cluster.ts'

export class KubernetesNodes implements ClusterNodes {
  readonly #client: KubeClient

  constructor(client: KubeClient) {
    this.#client = client
  }

  /** Asked afresh each time: a name that is taken by a Node must not be given away on old knowledge. */
  async exists(name: string): Promise<boolean> {
    return (await onBehalfOfEdge(() => getIfPresent(this.#client.resource(nodes), name))) !== undefined
  }
}
