/** Ingress, network policies and the addresses that services are given. */
import type { KubeObject } from '../objects.ts'
import { NONE, qualified, selectorCell, textColumn } from './common-cells.ts'
import { AGE_COLUMN, type Cell, column, identifying, layout, NAME_COLUMN, nameOf, type TableLayout } from './layout.ts'
import { at, listAt, optionalTextAt, textAt, textsAt } from './paths.ts'
import { loadBalancerAddresses } from './services.ts'

const shownHosts = 3
const defaultIngressClass = 'ingressclass.kubernetes.io/is-default-class'

const ingress = layout([
  NAME_COLUMN,
  column(
    'Class',
    'Class of the controller that serves it.',
    (object) => optionalTextAt(object, 'spec', 'ingressClassName') ?? NONE,
  ),
  column('Hosts', 'Hosts that its rules are for.', ingressHosts),
  column('Address', 'Where it is reached.', (object) => loadBalancerAddresses(object).join(',')),
  column('Ports', 'Ports that it opens.', (object) => (listAt(object, 'spec', 'tls').length > 0 ? '80, 443' : '80')),
  AGE_COLUMN,
])

/**
 * A rule without a host is for every host and is not shown beside others. What is left out is counted in rules, and
 * only once the shown ones are complete: kubectl users know these figures, odd as they are.
 */
function ingressHosts(object: KubeObject): Cell {
  const rules = listAt(object, 'spec', 'rules').map((rule) => textAt(rule, 'host'))
  const hosts: string[] = []
  let seen = 0
  for (; seen < rules.length && hosts.length < shownHosts; seen++) {
    const host = rules[seen]
    if (host !== undefined && host !== '') hosts.push(host)
  }
  if (hosts.length === 0) return '*'
  return seen < rules.length ? `${hosts.join(',')} + ${rules.length - shownHosts} more...` : hosts.join(',')
}

const ingressClass = layout([
  identifying(column('Name', 'Unique in the cluster.', ingressClassName)),
  textColumn('Controller', 'Controller that serves this class.', ['spec', 'controller']),
  column('Parameters', 'Object with more settings.', ingressParameters),
  AGE_COLUMN,
])

function ingressClassName(object: KubeObject): Cell {
  const isDefault = textAt(object, 'metadata', 'annotations', defaultIngressClass) === 'true'
  return isDefault ? `${nameOf(object)} (default)` : nameOf(object)
}

function ingressParameters(object: KubeObject): Cell {
  const parameters = at(object, 'spec', 'parameters')
  if (parameters === undefined) return NONE
  return `${qualified(textAt(parameters, 'kind'), textAt(parameters, 'apiGroup'))}/${textAt(parameters, 'name')}`
}

function parentReference(object: KubeObject): Cell {
  const parent = at(object, 'spec', 'parentRef')
  if (parent === undefined) return NONE
  const resource = qualified(textAt(parent, 'resource'), textAt(parent, 'group')).toLowerCase()
  const namespace = textAt(parent, 'namespace')
  return [resource, ...(namespace === '' ? [] : [namespace]), textAt(parent, 'name')].join('/')
}

export const NETWORKING_LAYOUTS: Readonly<Record<string, TableLayout>> = {
  'Ingress.networking.k8s.io': ingress,
  'IngressClass.networking.k8s.io': ingressClass,
  'NetworkPolicy.networking.k8s.io': layout([
    NAME_COLUMN,
    column('Pod-Selector', 'Pods that it is about.', (object) => selectorCell(at(object, 'spec', 'podSelector') ?? {})),
    AGE_COLUMN,
  ]),
  'ServiceCIDR.networking.k8s.io': layout([
    NAME_COLUMN,
    column('CIDRs', 'Ranges that addresses of services come from.', (object) =>
      textsAt(object, 'spec', 'cidrs').join(','),
    ),
    AGE_COLUMN,
  ]),
  // A real API server sends the age as well, without a column for it; no client can show that.
  'IPAddress.networking.k8s.io': layout([
    NAME_COLUMN,
    column('ParentRef', 'What the address belongs to.', parentReference),
  ]),
}
