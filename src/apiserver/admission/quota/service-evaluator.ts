/** Services are counted, and with them the node ports and load balancers that they take. */
import { integer, struct, structs, text } from '../../kinds/fields.ts'
import { SERVICES } from '../lookup.ts'
import { countName, type QuotaEvaluator } from './evaluator.ts'

const names = [countName(SERVICES), 'services', 'services.nodeports', 'services.loadbalancers']

export const SERVICE_EVALUATOR: QuotaEvaluator = {
  resource: SERVICES,
  handles: ({ operation, subresource }) => subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
  covers: (name) => names.includes(name),
  matchesScope: () => false,
  usage(service) {
    const spec = struct(service, 'spec')
    const ports = structs(spec, 'ports')
    const type = text(spec, 'type')
    const isBalanced = type === 'LoadBalancer'
    const takesAll = type === 'NodePort' || (isBalanced && spec?.['allocateLoadBalancerNodePorts'] !== false)
    const chosen = isBalanced ? ports.filter((port) => (integer(port, 'nodePort') ?? 0) !== 0).length : 0
    return {
      [countName(SERVICES)]: '1',
      services: '1',
      'services.nodeports': String(takesAll ? ports.length : chosen),
      'services.loadbalancers': isBalanced ? '1' : '0',
    }
  },
}
