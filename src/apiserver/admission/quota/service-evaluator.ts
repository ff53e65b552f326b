/** Services are counted, and with them the node ports and load balancers that they take. */
import { integer, struct, structs, text } from '../../kinds/fields.ts'
import { SERVICES } from '../lookup.ts'
import { Total } from '../totals.ts'
import { counting, countName, ONE, type QuotaEvaluator } from './evaluator.ts'
import { NO_SCOPES } from './scopes.ts'

const names = [countName(SERVICES), 'services', 'services.nodeports', 'services.loadbalancers']

export const SERVICE_EVALUATOR: QuotaEvaluator = {
  resource: SERVICES,
  handles: ({ operation, subresource }) => subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
  covers: (name) => names.includes(name),
  counting: counting((service) => {
    const spec = struct(service, 'spec')
    const ports = structs(spec, 'ports')
    const type = text(spec, 'type')
    const isBalanced = type === 'LoadBalancer'
    const takesAll = type === 'NodePort' || (isBalanced && spec?.['allocateLoadBalancerNodePorts'] !== false)
    const chosen = isBalanced ? ports.filter((port) => (integer(port, 'nodePort') ?? 0) !== 0).length : 0
    const usage = new Map([
      [countName(SERVICES), ONE],
      ['services', ONE],
      ['services.nodeports', Total.of(String(takesAll ? ports.length : chosen))],
      ['services.loadbalancers', Total.of(isBalanced ? '1' : '0')],
    ])
    return { usage, scopes: NO_SCOPES }
  }),
}
