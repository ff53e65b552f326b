/**
 * What the ServiceAccount `default/default` may do in the cluster of `causeway up`: see what is in its namespace. In Kubernetes
 * it may do nothing, and the first program that somebody tries would be told so. Whoever removes the binding keeps it removed.
 */
import type { KubeClient } from '../kube/client/client.ts'
import { namespaces, type Resource } from '../kube/client/kinds.ts'
import type { KubeObject } from '../kube/objects.ts'
import { isAlreadyExists, isNotFound } from '../kube/status/predicates.ts'

const bindingName = 'causeway:up:view'
const rbacGroup = 'rbac.authorization.k8s.io'

interface RoleBinding extends KubeObject {
  roleRef: { apiGroup: string; kind: string; name: string }
  subjects: { kind: string; name: string; namespace: string }[]
}

const roleBindings: Resource<RoleBinding> = {
  group: rbacGroup,
  version: 'v1',
  kind: 'RoleBinding',
  resource: 'rolebindings',
  namespaced: true,
}

/** To be called before the hub starts: a cluster where no hub has been is new. */
export async function grantFirstRights(client: KubeClient, hubNamespace: string): Promise<void> {
  if (await exists(client, hubNamespace)) return
  const namespace = 'default'
  try {
    await client
      .resource(roleBindings)
      .in(namespace)
      .create({
        metadata: { name: bindingName },
        roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'view' },
        subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
      })
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
}

async function exists(client: KubeClient, namespace: string): Promise<boolean> {
  try {
    await client.resource(namespaces).get(namespace)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
