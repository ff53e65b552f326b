/**
 * serviceenv: a container that sets KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT itself gets the endpoint there. The
 * variables are never added, and one that takes its value from elsewhere (`valueFrom`) is left alone.
 */
import { ANY_ITEM, type FieldEdit } from '../../kube/walker/walker.ts'
import { type ObjectFilter, overwrite, READ_VERBS } from './filter.ts'

const containerLists = ['initContainers', 'containers', 'ephemeralContainers']

export const serviceEnv: ObjectFilter = {
  name: 'serviceenv',
  resources: [{ apiVersion: 'v1', resource: 'pods', kind: 'Pod' }],
  verbs: READ_VERBS,
  components: ['kubelet'],
  decide(_pod, endpoint) {
    if (endpoint === undefined) return 'keep'
    return containerLists.flatMap((list) => [
      setVariable(list, 'KUBERNETES_SERVICE_HOST', endpoint.address),
      setVariable(list, 'KUBERNETES_SERVICE_PORT', String(endpoint.port)),
    ])
  },
}

function setVariable(list: string, name: string, value: string): FieldEdit {
  return overwrite(['spec', list, ANY_ITEM, 'env', { key: 'name', equals: name }, 'value'], value)
}
