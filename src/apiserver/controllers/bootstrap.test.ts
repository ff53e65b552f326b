import { isIPv6 } from 'node:net'
import type { NetworkInterfaceInfo } from 'node:os'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually, type ObjectServer, rest } from '../../../test/worlds/object-server.ts'
import { startServiceServer } from '../../../test/worlds/service-server.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { type CertificateAuthority, issueSelfSignedCa, validityFromNow } from '../../identity/issue.ts'
import { generateKeys } from '../../identity/keys.ts'
import type { RunningPart } from '../../process/lifecycle.ts'
import { defaultPolicy } from '../auth/rbac/bootstrap-policy.ts'
import { type ControllersOptions, composeControllers } from '../compose-controllers.ts'
import { builtInGroupVersions } from '../discovery/built-in.ts'
import { integer, struct, structs, text, texts } from '../kinds/fields.ts'
import { builtIn } from '../objects/resource.ts'
import { ALLOWED, NO_RULES } from '../request/authorizer.ts'
import { ServiceRange } from '../services/ip-range.ts'
import { findAdvertiseAddress } from '../services/kubernetes-service.ts'
import { recordKey, recordValue } from '../storage/private-records.ts'
import { NAMESPACES } from './namespace-state.ts'
import { SERVER_LEASE_SECONDS } from './server-leases.ts'
import { MAX_RETRY_MS } from './work-queue.ts'

const configMaps = builtIn('v1', 'configmaps')
const services = builtIn('v1', 'services')
const endpoints = builtIn('v1', 'endpoints')
const slices = builtIn('discovery.k8s.io/v1', 'endpointslices')
const apiServices = builtIn('apiregistration.k8s.io/v1', 'apiservices')
const flowSchemas = builtIn('flowcontrol.apiserver.k8s.io/v1', 'flowschemas')
const clusterRoles = builtIn('rbac.authorization.k8s.io/v1', 'clusterroles')
const serviceRange = new ServiceRange('10.96.0.0/16')

let server: ObjectServer
let ca: CertificateAuthority
const parts: RunningPart[] = []

beforeEach(async () => {
  server = await startServiceServer(serviceRange.cidr)
  const { privateKey } = await generateKeys()
  ca = await issueSelfSignedCa({ subject: userName('ca'), ...validityFromNow(server.clock, 1e9) }, privateKey)
})
afterEach(async () => {
  await stopParts()
  await server.stop()
  expect(server.clock.pending).toBe(0)
})

/** A range whose first address is this one. */
function rangeFrom(first: string): ServiceRange {
  return Object.create(serviceRange, { first: { value: first }, cidr: { value: serviceRange.cidr } }) as ServiceRange
}

async function stopParts(): Promise<void> {
  for (const part of parts.splice(0)) await part.stop(AbortSignal.abort())
}

async function start(changes: Partial<ControllersOptions> = {}): Promise<void> {
  const pem = certificatePem(ca.certificate)
  const { bootstrap, controllers } = composeControllers({
    ...server,
    ca,
    authorizer: { authorize: () => ALLOWED, rulesFor: () => NO_RULES },
    trust: {
      clientCaPem: pem,
      requestHeader: {
        caPem: pem,
        allowedNames: ['front-proxy-client'],
        usernameHeaders: ['X-Remote-User'],
        groupHeaders: ['X-Remote-Group'],
        extraHeaderPrefixes: ['X-Remote-Extra-'],
      },
    },
    served: builtInGroupVersions(),
    serviceRange,
    securePort: () => 6443,
    advertiseAddress: '192.0.2.10',
    sharesStore: false,
    ...changes,
  })
  const signal = new AbortController().signal
  for (const part of [bootstrap, controllers]) parts.push(await part.start(signal, () => {}))
}

describe('a fresh store', () => {
  it('gets what a fresh API server has', async () => {
    await start()
    expect(server.client.list(NAMESPACES).map(({ metadata }) => metadata?.name)).toEqual([
      'default',
      'kube-node-lease',
      'kube-public',
      'kube-system',
    ])
    expect(
      server.client.list(builtIn('scheduling.k8s.io/v1', 'priorityclasses')).map((object) => object['value']),
    ).toEqual([2_000_000_000, 2_000_001_000])
    const roles = defaultPolicy().filter(({ resource }) => resource === 'clusterroles')
    expect(server.client.list(clusterRoles)).toHaveLength(roles.length)
    expect(structs(server.get(clusterRoles, '', 'admin'), 'rules').length).toBeGreaterThan(10)
    expect(struct(server.get(builtIn('networking.k8s.io/v1', 'servicecidrs'), '', 'kubernetes'), 'spec')).toEqual({
      cidrs: ['10.96.0.0/16'],
    })
  })

  it('gets the service of the API server itself, with its address', async () => {
    await start()
    expect(server.get(services, 'default', 'kubernetes')).toMatchObject({
      metadata: { labels: { component: 'apiserver', provider: 'kubernetes' } },
      spec: {
        clusterIP: '10.96.0.1',
        ipFamilies: ['IPv4'],
        ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }],
      },
    })
    expect(server.get(endpoints, 'default', 'kubernetes')?.['subsets']).toEqual([
      { addresses: [{ ip: '192.0.2.10' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] },
    ])
    expect(server.get(slices, 'default', 'kubernetes')).toMatchObject({
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.10'], conditions: { ready: true } }],
      metadata: { labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    })
    const addresses = builtIn('networking.k8s.io/v1', 'ipaddresses')
    await eventually(() => server.get(addresses, '', '10.96.0.1') !== undefined)
    expect(server.get(addresses, '', '10.96.0.1')).toMatchObject({
      spec: { parentRef: { resource: 'services', namespace: 'default', name: 'kubernetes' } },
    })
    await server.delete(services, 'default', 'kubernetes')
    await eventually(() => server.get(services, 'default', 'kubernetes') !== undefined)
  })

  it('gets an available local APIService for every group version that is served', async () => {
    await start()
    const names = server.client.list(apiServices).map(({ metadata }) => metadata?.name ?? '')
    expect(names).toContain('v1.')
    expect(names).toContain('v2.autoscaling')
    expect(names).not.toContain('v1.apiregistration.k8s.io')
    expect(server.get(apiServices, '', 'v1.apps')).toMatchObject({
      metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' } },
      spec: { group: 'apps', version: 'v1', groupPriorityMinimum: 17_800, versionPriority: 15 },
      status: { conditions: [{ type: 'Available', status: 'True', reason: 'Local' }] },
    })
  })

  it('gets the flow schemas, whose priority levels exist', async () => {
    await start()
    const levels = builtIn('flowcontrol.apiserver.k8s.io/v1', 'prioritylevelconfigurations')
    const known = server.client.list(levels).map(({ metadata }) => metadata?.name)
    const used = server.client
      .list(flowSchemas)
      .map((schema) => text(struct(struct(schema, 'spec'), 'priorityLevelConfiguration'), 'name'))
    expect(new Set(used)).toEqual(new Set(known))
    expect(server.get(flowSchemas, '', 'probes')).toMatchObject({
      status: { conditions: [{ type: 'Dangling', status: 'False', reason: 'Found' }] },
    })
  })

  it('gets what extension servers must know, and other servers’ CAs are kept beside ours', async () => {
    await start()
    const find = (): unknown => server.get(configMaps, 'kube-system', 'extension-apiserver-authentication')?.['data']
    const pem = certificatePem(ca.certificate)
    expect(find()).toEqual({
      'client-ca-file': pem,
      'requestheader-client-ca-file': pem,
      'requestheader-allowed-names': '["front-proxy-client"]',
      'requestheader-username-headers': '["X-Remote-User"]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    })
    await stopParts()
    const { privateKey } = await generateKeys()
    ca = await issueSelfSignedCa({ subject: userName('other'), ...validityFromNow(server.clock, 1e9) }, privateKey)
    await start()
    expect(find()).toMatchObject({ 'client-ca-file': certificatePem(ca.certificate) + pem })
  })
})

describe('a second start', () => {
  it('serves although the address of the API server is taken, and takes it when it is free', async () => {
    await start()
    await stopParts()
    await server.delete(services, 'default', 'kubernetes')
    const squatter = { metadata: { namespace: 'default', name: 'squatter' }, spec: { ports: [{ port: 80 }] } }
    await server.create(services, { apiVersion: 'v1', kind: 'Service', ...squatter })
    const taken = struct(server.get(services, 'default', 'squatter'), 'spec')?.['clusterIP']
    await start({ serviceRange: rangeFrom(String(taken)) })
    expect(server.get(services, 'default', 'kubernetes')).toBeUndefined()
    await server.delete(services, 'default', 'squatter')
    await server.clock.advance(MAX_RETRY_MS)
    await eventually(() => struct(server.get(services, 'default', 'kubernetes'), 'spec')?.['clusterIP'] === taken)
  })

  it('writes nothing when all is there', async () => {
    await start()
    const accounts = builtIn('v1', 'serviceaccounts')
    await eventually(() => server.client.list(accounts).length === 4 && server.client.list(configMaps).length === 6)
    await eventually(() => server.client.list(builtIn('networking.k8s.io/v1', 'ipaddresses')).length === 1)
    await stopParts()
    const { revision } = server.cache
    await start()
    await stopParts()
    expect(server.cache.revision).toBe(revision)
  })

  it('corrects what it manages and leaves what others took over', async () => {
    await start()
    await stopParts()
    await server.update(flowSchemas, '', 'probes', (old) => ({
      ...old,
      spec: { ...struct(old, 'spec'), matchingPrecedence: 7 },
    }))
    await server.update(flowSchemas, '', 'exempt', (old) => ({
      ...old,
      metadata: { ...old.metadata, annotations: { 'apf.kubernetes.io/autoupdate-spec': 'false' } },
      spec: { ...struct(old, 'spec'), matchingPrecedence: 9 },
    }))
    await server.update(apiServices, '', 'v1.apps', (old) => ({
      ...old,
      spec: { ...struct(old, 'spec'), versionPriority: 3 },
    }))
    await server.update(apiServices, '', 'v1.batch', (old) => ({
      ...old,
      metadata: { ...old.metadata, labels: {} },
      spec: { ...struct(old, 'spec'), versionPriority: 3 },
    }))
    await start({ served: builtInGroupVersions().filter(({ group }) => group !== 'policy') })
    expect(server.get(flowSchemas, '', 'probes')).toMatchObject({ spec: { matchingPrecedence: 2 } })
    expect(server.get(flowSchemas, '', 'exempt')).toMatchObject({ spec: { matchingPrecedence: 9 } })
    expect(server.get(apiServices, '', 'v1.apps')).toMatchObject({ spec: { versionPriority: 15 } })
    expect(server.get(apiServices, '', 'v1.batch')).toMatchObject({ spec: { versionPriority: 3 } })
    expect(server.get(apiServices, '', 'v1.policy')).toBeUndefined()
  })

  it('moves the service to the new port and address', async () => {
    await start()
    await stopParts()
    await start({ securePort: () => 7443, advertiseAddress: '192.0.2.9' })
    expect(server.get(endpoints, 'default', 'kubernetes')?.['subsets']).toEqual([
      { addresses: [{ ip: '192.0.2.9' }], ports: [{ name: 'https', port: 7443, protocol: 'TCP' }] },
    ])
    expect(server.get(services, 'default', 'kubernetes')).toMatchObject({ spec: { ports: [{ targetPort: 7443 }] } })
  })
})

describe('the endpoints of servers on one store', () => {
  const listed = (): string[] => {
    const [subset] = structs(server.get(endpoints, 'default', 'kubernetes'), 'subsets')
    const [port] = structs(subset, 'ports')
    const inSlice = structs(server.get(slices, 'default', 'kubernetes'), 'endpoints').flatMap((one) =>
      texts(one, 'addresses'),
    )
    const addresses = structs(subset, 'addresses').map((entry) => text(entry, 'ip'))
    expect(inSlice).toEqual(addresses)
    return addresses.map((address) => `${address}:${integer(port, 'port')}`)
  }
  const lists = (...wanted: string[]) => eventually(() => listed().join() === wanted.join())
  /** A server that renews its record no more. */
  const addSilentServer = async (address: string, port: number): Promise<void> => {
    const key = recordKey('servers', `${address}:${port}`)
    const value = recordValue(key, { address, port })
    const write = { type: 'put', key, value, leaseSeconds: SERVER_LEASE_SECONDS } as const
    await server.writer.parts.store.commit({ conditions: [], writes: [write] })
  }

  it('are those that live: one that is silent goes when its lease runs out, the others stay', async () => {
    await start({ sharesStore: true })
    await addSilentServer('192.0.2.11', 6443)
    await lists('192.0.2.10:6443', '192.0.2.11:6443')
    for (let seconds = 0; seconds <= SERVER_LEASE_SECONDS + 1; seconds++) {
      await server.clock.advance(1_000)
      await rest(3)
    }
    await lists('192.0.2.10:6443')
    await server.clock.advance(60_000)
    await lists('192.0.2.10:6443')
  })

  it('lose one that ends in order at once', async () => {
    await start({ sharesStore: true })
    await start({ sharesStore: true, advertiseAddress: '192.0.2.9' })
    await lists('192.0.2.10:6443', '192.0.2.9:6443')
    await parts.pop()?.stop(AbortSignal.abort())
    await lists('192.0.2.10:6443')
  })

  it('have one port: the one that most have, and another one when those are gone', async () => {
    await start({ sharesStore: true, securePort: () => 7443 })
    await addSilentServer('192.0.2.11', 8443)
    await lists('192.0.2.10:7443')
    await addSilentServer('192.0.2.12', 8443)
    await lists('192.0.2.11:8443', '192.0.2.12:8443')
    expect(server.get(services, 'default', 'kubernetes')).toMatchObject({ spec: { ports: [{ targetPort: 8443 }] } })
    await server.clock.advance((SERVER_LEASE_SECONDS + 1) * 1_000)
    await lists('192.0.2.10:7443')
  })
})

describe('the identity of a server on a shared store', () => {
  const leases = builtIn('coordination.k8s.io/v1', 'leases')
  const found = () => server.client.list(leases, 'kube-system')

  it('is a Lease that is renewed, and removed an hour after that ended', async () => {
    await start({ sharesStore: true })
    await eventually(() => found().length === 1)
    const [lease] = found()
    expect(lease?.metadata?.name).toMatch(/^apiserver-[0-9a-f]+$/)
    expect(lease).toMatchObject({
      metadata: { labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver' } },
      spec: { leaseDurationSeconds: 3_600, renewTime: '2026-01-01T00:00:00.000000Z' },
    })
    await server.clock.advance(10_000)
    await eventually(() => text(struct(found()[0], 'spec'), 'renewTime') === '2026-01-01T00:00:10.000000Z')
    await stopParts()
    await server.clock.advance(3_600_001)
    await start({ sharesStore: true, securePort: () => 7443 })
    await eventually(() => found().length === 1 && found()[0]?.metadata?.name !== lease?.metadata?.name)
  })
})

describe('controllers', () => {
  it('of two servers on one store come to rest, whatever ports they have', async () => {
    await Promise.all([
      start({ sharesStore: true }),
      start({ sharesStore: true, securePort: () => 7443, advertiseAddress: '192.0.2.9' }),
    ])
    await server.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'extra' } })
    await eventually(() => server.get(configMaps, 'extra', 'kube-root-ca.crt') !== undefined)
    await server.delete(services, 'default', 'kubernetes')
    await eventually(() => server.get(services, 'default', 'kubernetes') !== undefined)
    await rest()
    const { revision } = server.cache
    await rest()
    expect(server.cache.revision).toBe(revision)
    expect(structs(server.get(slices, 'default', 'kubernetes'), 'endpoints')).toHaveLength(1)
  })

  it('may be left to a kube-controller-manager by name', async () => {
    await start({ skip: ['root-ca'] })
    const accounts = builtIn('v1', 'serviceaccounts')
    await eventually(() => server.client.list(accounts).length === 4)
    expect(server.get(configMaps, 'default', 'kube-root-ca.crt')).toBeUndefined()
  })

  it('put right what extension servers read, whoever spoils or deletes it', async () => {
    await start()
    const place = ['kube-system', 'extension-apiserver-authentication'] as const
    const find = (): string => text(struct(server.get(configMaps, ...place), 'data'), 'client-ca-file')
    const pem = find()
    await server.update(configMaps, ...place, (old) => ({ ...old, data: { 'client-ca-file': 'nonsense' } }))
    await eventually(() => find() === pem)
    await server.delete(configMaps, ...place)
    await eventually(() => find() === pem)
  })

  it('keep aggregated roles up to date', async () => {
    await start()
    const rules = [{ apiGroups: ['example.com'], resources: ['things'], verbs: ['get'] }]
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
    const metadata = { name: 'view-things', labels }
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules }
    const names = (): boolean[] =>
      ['admin', 'edit', 'view'].map((name) =>
        JSON.stringify(server.get(clusterRoles, '', name)?.['rules']).includes('example.com'),
      )
    await server.create(clusterRoles, role)
    await eventually(() => names().every(Boolean))
    await server.delete(clusterRoles, '', 'view-things')
    await eventually(() => !names().some(Boolean))
  })
})

describe('the advertised address', () => {
  const entry = (address: string, internal = false): NetworkInterfaceInfo => {
    const rest = { address, internal, netmask: '', mac: '', cidr: null }
    return isIPv6(address) ? { ...rest, family: 'IPv6', scopeid: 0 } : { ...rest, family: 'IPv4' }
  }

  it('is one that others can reach', () => {
    const interfaces = {
      lo: [entry('127.0.0.1', true)],
      eth0: [entry('fe80::1'), entry('169.254.1.1'), entry('192.0.2.7')],
    }
    expect(findAdvertiseAddress(interfaces)).toBe('192.0.2.7')
    expect(findAdvertiseAddress({ lo: [entry('127.0.0.1', true)] })).toBeUndefined()
  })
})
