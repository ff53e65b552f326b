/** How an edge stops while somebody still uses it: it waits, and whoever does not want to wait says so again. */
import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { askRole } from '../../src/cli/control-client.ts'
import { serviceAccounts, tokenRequests } from '../../src/kube/index.ts'
import { endAll, type Launched, patience } from './harness.ts'
import { HubCluster, type RunningHub } from './hub-cluster.ts'

let cluster: HubCluster
let hub: RunningHub
let token: string

beforeAll(async () => {
  cluster = await HubCluster.start()
  hub = await cluster.hub('hub')
  const accounts = cluster.client.resource(serviceAccounts).in('default')
  await accounts.create({ metadata: { name: 'pod' } })
  const { status } = await accounts.subresource('pod', tokenRequests).create({ spec: { audiences: [] } })
  token = status?.token ?? ''
})
afterAll(async () => {
  await cluster.close()
  await endAll()
})

interface Endpoint {
  readonly addresses: readonly string[]
  readonly port: number
  readonly requests: { readonly short: number }
}

async function endpointOf(dataDir: string): Promise<Endpoint | undefined> {
  return ((await askRole(cluster.path(dataDir), '/v1/status')) as { edge: { endpoint?: Endpoint } }).edge.endpoint
}

/** An edge with a request under way that never ends: its body has been announced and does not come. */
async function busyEdge(node: string): Promise<{ edge: Launched; answered: Promise<number | string> }> {
  const join = ['--hub', hub.url, '--token-file', await cluster.token(`token-${node}`, { node })]
  const edge = await cluster.edge(node, ...join, '--node-name', node, '--drain-timeout', '1h')
  await vi.waitFor(async () => expect((await endpointOf(node))?.addresses).toEqual(['127.0.0.1']), patience)
  const port = (await endpointOf(node))?.port
  const ca = cluster.text(`${node}/kubernetes-ca.crt`)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': '100' }
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const asked = request({ host: '127.0.0.1', port, path, ca, method: 'POST', headers, agent: false })
  const answered = new Promise<number | string>((resolve) => {
    asked.once('response', ({ statusCode = 0 }) => resolve(statusCode))
    asked.once('error', ({ message }) => resolve(message))
  })
  asked.write('{')
  await vi.waitFor(async () => expect((await endpointOf(node))?.requests.short).toBe(1), patience)
  return { edge, answered }
}

describe('an edge that is told to stop while a request is under way', () => {
  it.each([
    ['SIGTERM', 'SIGINT', 130],
    ['SIGINT', 'SIGTERM', 143],
  ] as const)('waits after %s, and ends at once with %s', async (first, second, code) => {
    const { edge, answered } = await busyEdge(`busy-${code}`)
    edge.kill(first)
    await edge.logged('a second signal ends the process at once')
    edge.kill(second)
    expect(await edge.exited).toEqual({ code, signal: null })
    expect(await answered).toMatch(/hang up|ECONNRESET/)
  })
})
