/** Every namespace has a ServiceAccount `default`: without it no pod could be made there. */

import { builtIn } from '../objects/resource.ts'
import { type Controller, nameOfItem, placeOf } from './controller.ts'
import type { InternalClient } from './internal-client.ts'
import { isActiveNamespace, NAMESPACES } from './namespace-state.ts'

const accounts = builtIn('v1', 'serviceaccounts')
const name = 'default'

export function serviceAccountController(client: InternalClient): Controller {
  return {
    name: 'service-accounts',
    sources: [
      { resource: NAMESPACES, keysOf: (item) => [nameOfItem(item)] },
      { resource: accounts, keysOf: (item) => (nameOfItem(item) === name ? [placeOf(item).namespace] : []) },
    ],
    async reconcile(namespace, signal) {
      if (!isActiveNamespace(client, namespace)) return undefined
      if (client.get({ resource: accounts, namespace, name }) !== undefined) return undefined
      await client.create(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } }, signal)
      return undefined
    },
  }
}
