/** The namespace of the hub's objects: made if it is missing and the hub may. */
import type { KubeClient } from '../../kube/client/client.ts'
import { namespaces } from '../../kube/client/kinds.ts'
import { isAlreadyExists, isForbidden, isNotFound } from '../../kube/status/predicates.ts'
import { ClusterError, explained } from '../shared/cluster-error.ts'
import { labelsOf } from '../shared/names.ts'

export async function ensureNamespace(client: KubeClient, name: string): Promise<void> {
  if (await explained(`look for namespace ${name}`, () => isPresent(client, name))) return
  try {
    await explained(`create namespace ${name}`, () =>
      client.resource(namespaces).create({ metadata: { name, labels: labelsOf() } }),
    )
  } catch (error) {
    if (isAlreadyExists(error)) return
    if (!isForbidden(error)) throw error
    throw new ClusterError(
      `namespace ${name} does not exist and the hub may not create it; run \`kubectl create namespace ${name}\` ` +
        'or apply deploy/hub-rbac.yaml, which has it',
      { cause: error },
    )
  }
}

/** Who may not even look is taken to work in a namespace that an administrator has made. */
async function isPresent(client: KubeClient, name: string): Promise<boolean> {
  try {
    await client.resource(namespaces).get(name)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    if (isForbidden(error)) return true
    throw error
  }
}
