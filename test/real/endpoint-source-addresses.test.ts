/**
 * Where requests have come from, as the audit log of a real kube-apiserver has it: it believes whoever connects to it, and
 * nobody can say something through the endpoint of an edge.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { TransparencyClient, type Version } from './endpoint-transparency-client.ts'
import { EndpointWorld } from './endpoint-transparency-edge.ts'
import { describeReal, kubectl } from './harness.ts'
import { type AuditLog, prepareAuditLog } from './in-cluster-clients/audit.ts'

const claims = {
  'x-forwarded-for': '203.0.113.7, 203.0.113.8',
  'x-real-ip': '203.0.113.9',
  forwarded: 'for=203.0.113.10',
  via: '1.1 203.0.113.11',
}

describeReal('the audit log', () => {
  let world: EndpointWorld
  let audit: AuditLog

  beforeAll(async () => {
    audit = await prepareAuditLog()
    world = await EndpointWorld.start({ apiServerFlags: audit.flags }, '--feeds', 'off')
  })
  afterAll(async () => {
    await world?.stop()
    audit?.remove()
  })

  /** What the log says of one request by a new account. */
  async function sourcesOf(server: string, version: Version, account: string): Promise<readonly string[]> {
    await kubectl(world.plane, ['create', 'serviceaccount', account])
    const token = (await kubectl(world.plane, ['create', 'token', account])).trim()
    const ca = readFileSync(world.plane.caFile, 'utf8')
    const client = new TransparencyClient({ server, ca, version, token })
    onTestFinished(() => client.close())
    expect(await client.ask({ path: '/version', headers: claims })).toMatchObject({ status: 200 })
    const user = `system:serviceaccount:default:${account}`
    await expect.poll(() => audit.sourcesOf(user)).toHaveLength(1)
    return (await audit.sourcesOf(user))[0] ?? []
  }

  it.each(['1.1', '2'] as const)('has no claim of a client at the endpoint (HTTP/%s)', async (version) => {
    const name = version.replace('.', '-')
    expect(await sourcesOf(world.plane.server, version, `direct-${name}`)).toEqual([
      '203.0.113.7',
      '203.0.113.8',
      '203.0.113.9',
      '127.0.0.1',
    ])
    expect(await sourcesOf(world.endpoint, version, `through-${name}`)).toEqual(['127.0.0.1'])
  })
}, ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])
