/** A hub whose way to its API server goes silent: nothing is refused, nothing is reset, nothing comes any more. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { endAll, patience, run } from './harness.ts'
import { ask, HubCluster, type RunningHub } from './hub-cluster.ts'

const silence = 'the cluster does not answer; no node is let in'

let cluster: HubCluster
let behindWay: HubCluster
let hub: RunningHub
let way: Awaited<ReturnType<typeof openWay>>

beforeAll(async () => {
  cluster = await HubCluster.start()
  const kubeconfig = cluster.text('api/admin.kubeconfig')
  const [server = ''] = /https:\/\/[^\s"]+/.exec(kubeconfig) ?? []
  way = await openWay(new URL(server))
  const throughWay = cluster.write('way.kubeconfig', kubeconfig.replace(server, `https://127.0.0.1:${way.port}`))
  const admin = cluster.path('api/admin.kubeconfig')
  behindWay = await HubCluster.at({ admin, hub: cluster.path(throughWay) }, cluster.folder)
  hub = await behindWay.hub('hub', '--advertise', '127.0.0.1')
})
afterAll(async () => {
  way.close()
  await Promise.all([cluster.close(), behindWay.close()])
  await endAll()
})

async function openWay(target: URL) {
  const sockets = new Set<Socket>()
  let isQuiet = false
  const proxy = createServer((client) => {
    const server = connect(Number(target.port), target.hostname)
    const link = (from: Socket, to: Socket): void => {
      sockets.add(from)
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
      from.on('data', (chunk) => to.write(chunk))
      if (isQuiet) from.pause()
    }
    link(client, server)
    link(server, client)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const quieten = (wanted: boolean): void => {
    isQuiet = wanted
    for (const socket of sockets) {
      if (wanted) socket.pause()
      else socket.resume()
    }
  }
  const close = (): void => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  }
  return { port: (proxy.address() as AddressInfo).port, quieten, close }
}

/** How often the hub has said that so far: a machine that stands still for long makes it speak too. */
function timesSaid(start: string): number {
  return hub.process.log.filter(({ msg }) => msg.startsWith(start)).length
}

async function readiness(): Promise<{ status: number; text: string }> {
  const response = await fetch(`${await hub.process.healthUrl()}/readyz?verbose`)
  return { status: response.status, text: await response.text() }
}

async function statusOfCluster(): Promise<unknown> {
  const { stdout } = await run(['status', '--data-dir', 'hub', '-o', 'json'], { workingDir: cluster.folder })
  return (JSON.parse(stdout) as { hub: { clusters: unknown[] } }).hub.clusters[0]
}

describe('a hub that is cut off from its cluster', () => {
  it('lets nobody in by what it knew, says so, and goes on when the way is back', async () => {
    await cluster.token('token', { uses: 1 })
    expect((await cluster.join('edge', hub.url, 'token', ['--node-name', 'edge-1'])).code).toBe(0)
    const credential = cluster.credential('edge')
    expect(await ask(hub.url, '/v1/node', credential)).toBe('ok')
    expect((await readiness()).text).toContain('[+]cluster-default ok')
    expect(await statusOfCluster()).toMatchObject({ name: 'default', ready: true })

    const silences = timesSaid(silence)
    way.quieten(true)
    expect((await cluster.admin('nodes', 'forget', 'edge-1')).code).toBe(0)
    await vi.waitFor(() => expect(timesSaid(silence)).toBe(silences + 1), patience)
    expect(await ask(hub.url, '/v1/node', credential)).toBe('cluster-unavailable')
    const { status, text } = await readiness()
    expect(status).toBe(500)
    expect(text).toContain('[-]cluster-default failed: the API server has not confirmed the claims of nodes for ')
    expect(await statusOfCluster()).toMatchObject({ ready: false, problem: expect.stringContaining('not confirmed') })

    const returns = timesSaid('the cluster answers again')
    way.quieten(false)
    await vi.waitFor(() => expect(timesSaid('the cluster answers again')).toBe(returns + 1), patience)
    // What it has missed comes right behind that answer.
    await expect.poll(() => ask(hub.url, '/v1/node', credential)).toBe('certificate-revoked')
    expect((await readiness()).status).toBe(200)
    expect(timesSaid(silence)).toBe(silences + 1)
  })
})

describe('joining again', () => {
  it('ends with 1 where no hub can be asked, and changes nothing', async () => {
    const other = await cluster.hub('other', '--advertise', '127.0.0.1', ...(await cluster.lastingAddress()))
    await cluster.token('first', { node: 'edge-2' })
    expect((await cluster.join('edge-2', other.url, 'first')).code).toBe(0)
    const before = cluster.text('edge-2/edge.crt')
    const token = await cluster.token('second', { node: 'edge-2' })
    other.process.kill('SIGTERM')
    await other.process.exited
    const again = await cluster.join('edge-2', other.url, token)
    expect(again).toMatchObject({ code: 1 })
    expect(again.stderr).toContain('error: no hub could be asked whether that still counts: ')
    expect(cluster.text('edge-2/edge.crt')).toBe(before)
  })
})
