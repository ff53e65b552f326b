/**
 * inclusterconfig: kube-proxy's pods take their kubeconfig from the ConfigMap `kube-system/kube-proxy`, which the kubelet
 * mounts. Here its servers become the endpoint, so kube-proxy itself comes through it, before any of its rules exist.
 * Its configuration (`config.conf`) stays as it is; where that names no kubeconfig, kube-proxy goes by the
 * KUBERNETES_SERVICE variables and there is nothing to do.
 */
import { posix } from 'node:path'
import type { FilterEndpoint, ObjectFilter, ObjectView } from './filter.ts'
import { READ_VERBS } from './filter.ts'
import { readYamlText, replaceServers } from './kubeconfig-text.ts'

const configKey = 'config.conf'
const usualKubeconfigKey = 'kubeconfig.conf'

export const inClusterConfig: ObjectFilter = {
  name: 'inclusterconfig',
  resources: [{ apiVersion: 'v1', resource: 'configmaps', kind: 'ConfigMap' }],
  verbs: READ_VERBS,
  components: ['kubelet'],
  decide(object, endpoint) {
    const { namespace, name } = object.identity
    if (endpoint === undefined || namespace !== 'kube-system' || name !== 'kube-proxy') return 'keep'
    const key = kubeconfigKey(object)
    if (key === undefined) return 'keep'
    const server = serverUrl(endpoint)
    return [
      {
        path: ['data', key],
        replace: (text: unknown) => (typeof text === 'string' ? replaceServers(text, server) : text),
      },
    ]
  },
}

/** The entry that kube-proxy's configuration names; undefined where it names none. */
function kubeconfigKey(object: ObjectView): string | undefined {
  const config = object.read(['data', configKey])
  if (typeof config !== 'string') return usualKubeconfigKey
  const file = readYamlText(config, ['clientConnection', 'kubeconfig'])
  return file === undefined ? undefined : posix.basename(file)
}

function serverUrl({ address, port }: FilterEndpoint): string {
  return `https://${address.includes(':') ? `[${address}]` : address}:${port}`
}
