/** Services, endpoints, ingress and policies. */
import { object } from '../codec-fixtures.ts'
import { labels, selector, type TableFixture } from './parts.ts'

export function networkFixtures(): TableFixture[] {
  const service = (name: string, spec: object, status?: object): TableFixture => ({
    object: object('v1', 'Service', `table-${name}`, { spec: { ports: [{ port: 80 }], selector: labels, ...spec } }),
    ...(status === undefined ? {} : { status }),
  })
  const addresses = (count: number) => Array.from({ length: count }, (_, index) => ({ ip: `10.9.0.${index + 1}` }))
  const rules = (...hosts: readonly string[]) =>
    hosts.map((host) => (host === '' ? { http: { paths: [path] } } : { host, http: { paths: [path] } }))
  const path = { path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }
  const ingress = (name: string, spec: object, status?: object): TableFixture => ({
    object: object('networking.k8s.io/v1', 'Ingress', `table-${name}`, { spec }),
    ...(status === undefined ? {} : { status }),
  })
  const slice = (name: string, rest: object): TableFixture => ({
    object: object('discovery.k8s.io/v1', 'EndpointSlice', `table-${name}`, { addressType: 'IPv4', ...rest }),
  })
  return [
    service('cluster', {
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 53, protocol: 'UDP' },
      ],
      externalIPs: ['192.0.2.1', '192.0.2.2'],
    }),
    service('node', { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] }),
    service('pending', { type: 'LoadBalancer', ports: [{ port: 443, nodePort: 30443 }] }),
    service(
      'balanced',
      { type: 'LoadBalancer', externalIPs: ['192.0.2.9'], ports: [{ port: 443, nodePort: 30444 }] },
      { loadBalancer: { ingress: [{ hostname: 'lb.example.com' }, { ip: '198.51.100.7' }, { ip: '198.51.100.7' }] } },
    ),
    {
      object: object('v1', 'Endpoints', 'table-few', { subsets: [{ addresses: addresses(2), ports: [{ port: 80 }] }] }),
    },
    {
      object: object('v1', 'Endpoints', 'table-many', {
        subsets: [
          {
            addresses: addresses(3),
            ports: [
              { name: 'a', port: 80 },
              { name: 'b', port: 81 },
            ],
          },
        ],
      }),
    },
    {
      object: object('v1', 'Endpoints', 'table-portless', {
        subsets: [{ addresses: [...addresses(3), { ip: 'fd00::1' }] }],
      }),
    },
    {
      object: object('v1', 'Endpoints', 'table-v6', {
        subsets: [{ addresses: [{ ip: 'fd00::1' }], ports: [{ port: 80 }] }],
      }),
    },
    {
      object: object('v1', 'Endpoints', 'table-unready', {
        subsets: [{ notReadyAddresses: addresses(1), ports: [{ port: 80 }] }],
      }),
    },
    slice('many', {
      ports: [
        { port: 80, name: 'a' },
        { port: 81, name: 'b' },
        { port: 82, name: 'c' },
        { port: 83, name: 'd' },
      ],
      endpoints: [
        { addresses: ['10.0.0.1'] },
        { addresses: ['10.0.0.2'] },
        { addresses: ['10.0.0.3'] },
        { addresses: ['10.0.0.4'] },
      ],
    }),
    slice('open-ports', { ports: [{ name: 'named' }, { name: '' }], endpoints: [] }),
    ingress('plain', { rules: rules('') }),
    ingress(
      'tls',
      { ingressClassName: 'fast', tls: [{ hosts: ['a.example.com'] }], rules: rules('a.example.com', '') },
      { loadBalancer: { ingress: [{ ip: '192.0.2.20' }, { hostname: 'in.example.com' }] } },
    ),
    ingress('many', { rules: rules('a.example.com', 'b.example.com', '', 'c.example.com', 'd.example.com') }),
    {
      object: object('networking.k8s.io/v1', 'IngressClass', 'table', {
        metadata: { name: 'table', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
        spec: { controller: 'example.com/c', parameters: { apiGroup: 'example.com', kind: 'Settings', name: 's' } },
      }),
    },
    { object: object('networking.k8s.io/v1', 'NetworkPolicy', 'table', { spec: { podSelector: selector } }) },
    { object: object('networking.k8s.io/v1', 'NetworkPolicy', 'table-all', { spec: { podSelector: {} } }) },
    { object: object('networking.k8s.io/v1', 'ServiceCIDR', 'table', { spec: { cidrs: ['10.200.0.0/24'] } }) },
    {
      object: object('networking.k8s.io/v1', 'IPAddress', '10.200.0.9', {
        metadata: { name: '10.200.0.9', labels: { 'ipaddress.kubernetes.io/ip-family': 'IPv4' } },
        spec: { parentRef: { group: 'example.com', resource: 'Gateways', namespace: 'n', name: 'g' } },
      }),
    },
  ]
}
