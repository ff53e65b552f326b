/** Every namespace has the ConfigMap `kube-root-ca.crt`, from which pods learn whom to trust; it is put right if changed. */
import { sameValue } from '../kinds/equality.ts'
import { builtIn } from '../objects/resource.ts'
import { type Controller, nameOfItem, placeOf } from './controller.ts'
import type { InternalClient } from './internal-client.ts'
import { isActiveNamespace, NAMESPACES } from './namespace-state.ts'

const ROOT_CA_CONFIG_MAP = 'kube-root-ca.crt'

const configMaps = builtIn('v1', 'configmaps')
/** A kube-controller-manager beside us rewrites maps without a description; what it says is ours to choose. */
const annotations = {
  'kubernetes.io/description':
    'The CA of the API server, for verifying it under its internal names such as kubernetes.default.svc.',
}

export function rootCaController(client: InternalClient, caPem: string): Controller {
  const name = ROOT_CA_CONFIG_MAP
  const data = { 'ca.crt': caPem }
  return {
    name: 'root-ca',
    sources: [
      { resource: NAMESPACES, keysOf: (item) => [nameOfItem(item)] },
      { resource: configMaps, keysOf: (item) => (nameOfItem(item) === name ? [placeOf(item).namespace] : []) },
    ],
    async reconcile(namespace, signal) {
      if (!isActiveNamespace(client, namespace)) return undefined
      const wanted = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name, annotations }, data }
      // Only the data counts: whoever adds labels or annotations of their own keeps them.
      await client.ensure(configMaps, wanted, signal, (present) =>
        sameValue(present['data'], data) ? undefined : { ...present, data },
      )
      return undefined
    },
  }
}
