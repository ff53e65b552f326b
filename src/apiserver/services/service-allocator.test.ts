import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ObjectServer } from '../../../test/worlds/object-server.ts'
import { startServiceServer } from '../../../test/worlds/service-server.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { type Fields, struct, structs } from '../kinds/fields.ts'
import { builtIn } from '../objects/resource.ts'
import { FIRST_NODE_PORT, LAST_NODE_PORT } from './node-ports.ts'

const services = builtIn('v1', 'services')
let server: ObjectServer

async function start(cidr = '10.96.0.0/16'): Promise<void> {
  server = await startServiceServer(cidr)
}

beforeEach(() => start())
afterEach(() => server.stop())

function service(name: string, spec: Fields = {}): KubeObject {
  const ports = spec['type'] === 'ExternalName' ? {} : { ports: [{ port: 80 }] }
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'default', name }, spec: { ...ports, ...spec } }
}

async function specOf(object: Promise<KubeObject>): Promise<Fields> {
  return struct(await object, 'spec') ?? {}
}

const create = (name: string, spec: Fields = {}, options = {}): Promise<Fields> =>
  specOf(server.create(services, service(name, spec), options))
const patch = (name: string, spec: Fields): Promise<Fields> =>
  specOf(
    server.update(services, 'default', name, (old) => ({ ...old, spec: { ...(struct(old, 'spec') ?? {}), ...spec } })),
  )

describe('cluster addresses', () => {
  it('are given with the family fields, inside the range, outside its reserved part', async () => {
    const spec = await create('web')
    expect(spec).toMatchObject({ ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack', clusterIPs: [spec['clusterIP']] })
    const [, , third, fourth] = String(spec['clusterIP']).split('.').map(Number)
    expect(spec['clusterIP']).toMatch(/^10\.96\./)
    expect((third ?? 0) * 256 + (fourth ?? 0)).toBeGreaterThan(256)
  })

  it('differ for services made at the same time, until the range is used up', async () => {
    await server.stop()
    await start('10.1.2.0/28')
    const names = Array.from({ length: 13 }, (_, index) => `s${index}`)
    const specs = await Promise.all(names.map((name) => create(name)))
    expect(new Set(specs.map(({ clusterIP }) => clusterIP)).size).toBe(13)
    expect(specs.map(({ clusterIP }) => clusterIP)).not.toContain('10.1.2.1')
    await expect(create('late')).rejects.toThrow('failed to allocate a serviceIP for Service "late": range is full')
    await server.delete(services, 'default', 's3')
    expect((await create('late'))['clusterIP']).toBe(specs[3]?.['clusterIP'])
  })

  it('may be chosen once: of two that ask at the same time one gets it', async () => {
    const wish = { clusterIP: '10.96.7.7' }
    const results = await Promise.allSettled([create('a', wish), create('b', wish)])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await expect(create('c', wish)).rejects.toThrow(
      'Service "c" is invalid: spec.clusterIPs: Invalid value: ["10.96.7.7"]: failed to allocate IP 10.96.7.7: provided IP is already allocated',
    )
  })

  it.each([
    ['10.97.0.1', 'failed to allocate IP 10.97.0.1: the provided network does not match the current range'],
    ['10.96.0.0', 'failed to allocate IP 10.96.0.0: the provided network does not match the current range'],
    ['10.96.255.255', 'failed to allocate IP 10.96.255.255: the provided network does not match the current range'],
    ['10.96.0.1', 'failed to allocate IP 10.96.0.1: provided IP is already allocated'],
    ['fd00::1', 'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster'],
    ['x', 'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address'],
  ])('are refused when they cannot be: %s', async (clusterIP, text) => {
    await expect(create('web', { clusterIP })).rejects.toThrow(text)
  })

  it('are not kept for a request that was refused for another reason', async () => {
    const clusterIP = '10.96.7.7'
    await expect(create('web', { clusterIP, sessionAffinity: 'Sometimes' })).rejects.toThrow('spec.sessionAffinity')
    expect((await create('other', { clusterIP }))['clusterIP']).toBe(clusterIP)
  })

  it('are free again at once when the Service exists already', async () => {
    const clusterIP = '10.96.7.7'
    await create('web')
    await expect(create('web', { clusterIP })).rejects.toThrow('already exists')
    expect((await create('other', { clusterIP }))['clusterIP']).toBe(clusterIP)
  })

  it('are shown but not taken by a dry run', async () => {
    const clusterIP = '10.96.7.7'
    expect((await create('web', { clusterIP }, { dryRun: true }))['clusterIP']).toBe(clusterIP)
    expect((await create('other', { clusterIP }))['clusterIP']).toBe(clusterIP)
    await expect(create('web', { clusterIP }, { dryRun: true })).rejects.toThrow('already allocated')
  })

  it('stay on update, go with a change to ExternalName, and come back with the way back', async () => {
    const { clusterIP } = await create('web', { clusterIP: '10.96.7.7' })
    expect((await patch('web', { selector: { a: 'b' } }))['clusterIP']).toBe(clusterIP)
    await expect(patch('web', { clusterIP: '10.96.7.8', clusterIPs: ['10.96.7.8'] })).rejects.toThrow(
      'spec.clusterIPs[0]: Invalid value: ["10.96.7.8"]: may not change once set',
    )
    const external = await patch('web', { type: 'ExternalName', externalName: 'a.b' })
    for (const name of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'])
      expect(external).not.toHaveProperty(name)
    expect((await create('other', { clusterIP }))['clusterIP']).toBe(clusterIP)
    const back = await patch('web', { type: 'ClusterIP', externalName: undefined })
    expect(back['clusterIP']).toMatch(/^10\.96\./)
    expect(back['clusterIP']).not.toBe(clusterIP)
  })

  it('are not for headless services, whose families depend on their selector', async () => {
    expect(await create('free', { clusterIP: 'None' })).toMatchObject({
      clusterIPs: ['None'],
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
    })
    expect(await create('bound', { clusterIP: 'None', selector: { a: 'b' } })).toMatchObject({
      clusterIPs: ['None'],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    })
  })

  it('have one family here, whatever is asked for', async () => {
    expect(await create('web', { ipFamilyPolicy: 'PreferDualStack' })).toMatchObject({ ipFamilies: ['IPv4'] })
    await expect(create('six', { ipFamilies: ['IPv6'] })).rejects.toThrow(
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    )
    const single =
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack'
    await expect(create('two', { ipFamilyPolicy: 'RequireDualStack' })).rejects.toThrow(single)
    await expect(patch('web', { ipFamilyPolicy: 'RequireDualStack' })).rejects.toThrow(single)
    await expect(create('both', { clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9', 'fd00::1'] })).rejects.toThrow(
      `[spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified, spec.clusterIPs[1]: Invalid value: ["10.96.0.9","fd00::1"]: IPv6 is not configured on this cluster]`,
    )
  })
})

describe('node ports', () => {
  const portsOf = (spec: Fields): unknown[] => structs(spec, 'ports').map(({ nodePort }) => nodePort)

  it('are given from the range, one for both protocols of a port', async () => {
    const ports = [
      { name: 'a', port: 53, protocol: 'TCP' },
      { name: 'b', port: 53, protocol: 'UDP' },
      { name: 'c', port: 54 },
    ]
    const [a, b, c] = portsOf(await create('dns', { type: 'NodePort', ports })) as number[]
    expect(a).toBe(b)
    expect(a).not.toBe(c)
    expect(a).toBeGreaterThanOrEqual(FIRST_NODE_PORT)
    expect(a).toBeLessThanOrEqual(LAST_NODE_PORT)
  })

  it('are refused when taken or out of range', async () => {
    const asking = (nodePort: number): Fields => ({ type: 'NodePort', ports: [{ port: 80, nodePort }] })
    await create('web', asking(30_100))
    await expect(create('other', asking(30_100))).rejects.toThrow(
      'spec.ports[0].nodePort: Invalid value: 30100: provided port is already allocated',
    )
    await expect(create('other', asking(100))).rejects.toThrow(
      'spec.ports[0].nodePort: Invalid value: 100: provided port is not in the valid range. The range of valid ports is 30000-32767',
    )
  })

  it('stay on update and are let go with the type', async () => {
    const before = portsOf(await create('web', { type: 'NodePort' }))
    expect(portsOf(await patch('web', { ports: [{ port: 80 }], selector: { a: 'b' } }))).toEqual(before)
    expect(portsOf(await patch('web', { type: 'ClusterIP' }))).toEqual([undefined])
    const ports = [{ port: 80, nodePort: before[0] }]
    expect(portsOf(await create('other', { type: 'NodePort', ports }))).toEqual(before)
  })

  it('include one for health checks where a load balancer needs it', async () => {
    const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }
    const healthPort = Number((await create('lb', spec))['healthCheckNodePort'])
    expect(healthPort).toBeGreaterThanOrEqual(FIRST_NODE_PORT)
    await expect(create('other', { ...spec, healthCheckNodePort: healthPort })).rejects.toThrow(
      `failed to allocate requested HealthCheck NodePort ${healthPort}: provided port is already allocated`,
    )
    const cluster = await patch('lb', { type: 'ClusterIP' })
    for (const name of ['healthCheckNodePort', 'externalTrafficPolicy', 'allocateLoadBalancerNodePorts']) {
      expect(cluster).not.toHaveProperty(name)
    }
  })

  it('are not given to a load balancer that wants none', async () => {
    const spec = await create('lb', { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false })
    expect(portsOf(spec)).toEqual([undefined])
  })
})
