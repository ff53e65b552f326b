import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { askRole } from '../../src/cli/control-client.ts'
import { serviceAccounts, tokenRequests } from '../../src/kube/index.ts'
import { endAll, type Launched, patience } from './harness.ts'
import { HubCluster, type RunningHub } from './hub-cluster.ts'

const service = '/api/v1/namespaces/default/services/kubernetes'

let cluster: HubCluster
let hub: RunningHub

beforeAll(async () => {
  cluster = await HubCluster.start()
  hub = await cluster.hub('hub')
})
afterEach(async () => {
  for (const process of edges.splice(0)) {
    process.kill('SIGTERM')
    await process.exited
  }
})
afterAll(async () => {
  await cluster.close()
  await endAll()
})

const edges: Launched[] = []

/** Runs the edge of this folder, which joins first if there is a token. */
async function edge(dataDir: string, ...flags: string[]): Promise<Launched> {
  const process = await cluster.edge(dataDir, ...flags)
  edges.push(process)
  return process
}

async function joined(node: string): Promise<string[]> {
  return ['--hub', hub.url, '--node-name', node, '--token-file', await cluster.token(`token-${node}`, { node })]
}

/** Where the endpoint serves, once it does and the node has its own certificate too, which comes by itself. */
async function portOf(dataDir: string): Promise<number> {
  let port = 0
  await vi.waitFor(async () => {
    const status = (await askRole(cluster.path(dataDir), '/v1/status')) as {
      edge: { endpoint?: { addresses: string[]; port: number; certificates: { client: { ends?: string } } } }
    }
    expect(status.edge.endpoint?.addresses).toEqual(['127.0.0.1'])
    expect(status.edge.endpoint?.certificates.client.ends).toBeDefined()
    port = status.edge.endpoint?.port ?? 0
  }, patience)
  return port
}

interface Caller {
  readonly token?: string
  readonly certificateOf?: string
  readonly userAgent?: string
}

/** What a client sends that trusts only what pods trust. */
function open(dataDir: string, port: number, path: string, caller: Caller = {}): Promise<IncomingMessage> {
  const { token, certificateOf, userAgent = 'test' } = caller
  const pair =
    certificateOf === undefined
      ? {}
      : {
          cert: cluster.text(`${certificateOf}/kubelet-client.crt`),
          key: cluster.text(`${certificateOf}/kubelet-client.key`),
        }
  const headers = { 'user-agent': userAgent, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
  const ca = cluster.text(`${dataDir}/kubernetes-ca.crt`)
  return new Promise((resolve, reject) => {
    const agent = new Agent({ keepAlive: false })
    const asked = request({ host: '127.0.0.1', port, path, ca, ...pair, headers, agent }, resolve)
    asked.on('error', reject)
    asked.end()
  })
}

async function get(dataDir: string, port: number, path: string, caller: Caller = {}) {
  const response = await open(dataDir, port, path, caller)
  let body = ''
  for await (const text of response.setEncoding('utf8')) body += text as string
  return { status: response.statusCode, retryAfter: response.headers['retry-after'], json: JSON.parse(body) as Answer }
}

interface Answer {
  readonly kind: string
  readonly reason?: string
  readonly message?: string
  readonly spec?: { readonly clusterIP: string }
}

/** Lines of a watch as they come. */
class Watch {
  readonly lines: { type: string; object: Answer & { code?: number } }[] = []
  isOver = false
  problem: Error | undefined

  constructor(response: IncomingMessage) {
    let rest = ''
    response.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n')
      rest = parts.pop() ?? ''
      this.lines.push(...parts.map((line) => JSON.parse(line) as Watch['lines'][number]))
    })
    response.on('end', () => {
      this.isOver = true
    })
    response.on('error', (error) => {
      this.problem = error
    })
  }
}

async function tokenOf(account: string): Promise<string> {
  const accounts = cluster.client.resource(serviceAccounts).in('default')
  if (account !== 'default') await accounts.create({ metadata: { name: account } })
  const { status } = await accounts
    .subresource(account, tokenRequests)
    .create({ spec: { audiences: [], expirationSeconds: 3_600 } })
  return status?.token ?? ''
}

describe('the endpoint of an edge', () => {
  it('is the API server for whoever trusts its CA, with the rights of each and no more', async () => {
    await edge('one', ...(await joined('one')))
    const port = await portOf('one')
    const token = await tokenOf('pod')
    expect(await get('one', port, '/version')).toMatchObject({ status: 200 })
    expect(await get('one', port, service)).toMatchObject({ status: 403, json: { reason: 'Forbidden' } })
    expect((await get('one', port, service)).json.message).toContain('User "system:anonymous"')
    expect((await get('one', port, service, { token })).json.message).toContain('"system:serviceaccount:default:pod"')
    expect(await get('one', port, service, { token: 'made.up.token' })).toMatchObject({ status: 401 })
    expect(await get('one', port, service, { certificateOf: 'one' })).toMatchObject({ status: 200 })
    expect(await get('one', port, service, { certificateOf: 'one', token })).toMatchObject({ status: 401 })
  })

  it('answers what it has kept while the hub is away, says why it knows no more, and goes on when it is back', async () => {
    const address = await cluster.lastingAddress()
    const own = await cluster.hub('leaving', ...address)
    const token = await cluster.token('token-two', { node: 'two' })
    await edge('two', '--hub', own.url, '--node-name', 'two', '--token-file', token)
    const port = await portOf('two')
    expect(await get('two', port, service, { certificateOf: 'two' })).toMatchObject({ status: 200 })
    own.process.kill('SIGKILL')
    await own.process.exited
    await vi.waitFor(async () => {
      const refused = await get('two', port, '/api/v1/nodes/two', { certificateOf: 'two' })
      expect(refused).toMatchObject({
        status: 503,
        retryAfter: '1',
        json: { kind: 'Status', reason: 'ServiceUnavailable' },
      })
      expect(refused.json.message).toContain('this node is cut off from its API server')
    }, patience)
    const kept = await get('two', port, service, { certificateOf: 'two' })
    expect(kept).toMatchObject({ status: 200, json: { kind: 'Service' } })
    await cluster.hub('leaving', ...address)
    await vi.waitFor(
      async () => expect(await get('two', port, service, { certificateOf: 'two' })).toMatchObject({ status: 200 }),
      patience,
    )
  })

  it('opens from what is on disk when it starts without a hub', async () => {
    const first = await edge('three', ...(await joined('three')))
    await portOf('three')
    first.kill('SIGKILL')
    await first.exited
    await edge('three', '--hub', 'https://127.0.0.1:1')
    const port = await portOf('three')
    const refused = await get('three', port, service, { certificateOf: 'three' })
    expect(refused).toMatchObject({ status: 503, retryAfter: '1', json: { reason: 'ServiceUnavailable' } })
  })

  it('is ready only with a token for kube-proxy, where one is to be kept', async () => {
    const readyz = async (process: Launched): Promise<string> =>
      await (await fetch(`${await process.healthUrl()}/readyz?verbose`)).text()
    await cluster.join('four', hub.url, await cluster.token('token-four', { node: 'four' }), ['--node-name', 'four'])
    const lonely = await edge('four', '--write-kubelet-kubeconfig', '--hub', 'https://127.0.0.1:1')
    expect(await readyz(lonely)).toContain(
      `[-]kube-proxy-token failed: there is no token of kube-proxy in ${cluster.path('four/kube-proxy.token')}: `,
    )
    const linked = await edge('six', '--write-kubelet-kubeconfig', ...(await joined('six')))
    await vi.waitFor(async () => expect(await readyz(linked)).toContain('[+]kube-proxy-token ok\n'), patience)
  })

  it('drops and takes up filters by its file of settings, and clients list anew', async () => {
    const config = (filters: string): string =>
      cluster.write('five.yaml', `endpointAddress: [none]\nendpointPort: 0\ndisabledResourceFilters: [${filters}]\n`)
    await edge('five', '--config', config(''), ...(await joined('five')))
    const port = await portOf('five')
    const path = '/api/v1/namespaces/default/services?watch=true'
    const watch = new Watch(await open('five', port, path, { certificateOf: 'five' }))
    await vi.waitFor(() => expect(watch.lines.length).toBeGreaterThan(0), patience)
    config('masterservice')
    await vi.waitFor(() => expect(watch.isOver).toBe(true), patience)
    expect(watch.lines.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } })
  })
})
