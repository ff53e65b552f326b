/** The ways to the API server that are compared. */
import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts, kubectl } from '../../test/real/control-plane.ts'
import { endProcess, runCommand, spawnCommand, startCommand } from '../tunnel/processes.ts'
import type { BenchCluster } from './cluster.ts'
import { poll } from './polling.ts'

const hubRights = fileURLToPath(new URL('../../../deploy/hub-rbac.yaml', import.meta.url))
/** Certificates are asked for, signed and fetched before a port opens. */
const startPolling = { patienceMs: 60_000, pollMs: 200 }

export interface Way {
  readonly name: string
  readonly server: string
  /** What runs on the node. */
  readonly agent: readonly ChildProcess[]
  /** What runs beside it in the cloud. */
  readonly cloud: readonly ChildProcess[]
  /** Of an edge. */
  readonly metricsUrl?: string
  readonly stop: () => Promise<void>
}

/** An agent that is started more than once. */
export interface Restartable {
  /** For the first time; it answers when this resolves. */
  start(): Promise<Way>
  /** Once more, without waiting for anything. */
  restart(): Way
}

export interface World {
  readonly folder: string
  readonly cluster: BenchCluster
  readonly profileDir: string | undefined
}

export interface Hub {
  readonly child: ChildProcess
  readonly url: string
}

export function direct({ cluster }: World): Way {
  return { name: 'direct', server: cluster.plane.server, agent: [], cloud: [], stop: async () => {} }
}

/** With the rights of the manifest and no more. */
export async function startHub({ folder, cluster: { plane }, profileDir }: World): Promise<Hub> {
  await kubectl(plane, ['apply', '-f', hubRights])
  const token = await kubectl(plane, ['create', 'token', 'causeway-hub', '-n', 'causeway-system', '--duration=2h'])
  const kubeconfig = join(folder, 'hub.kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(plane, token.trim()))
  const flags = ['--listen=127.0.0.1:0', '--advertise=127.0.0.1', `--data-dir=${folder}/hub`]
  const { child, line } = await startCommand(['hub', `--kubeconfig=${kubeconfig}`, ...flags], profileDir)
  return { child, url: /https:\/\/\S+/.exec(line)?.[0] ?? '' }
}

/** An edge whose endpoint is asked. */
export async function startCauseway(world: World, hub: Hub): Promise<Way> {
  return await (await causeway(world, hub, 'edge-1')).start()
}

export async function causeway(world: World, hub: Hub, node: string): Promise<Restartable> {
  const [port = 0] = await freePorts(1)
  const flags = [`--endpoint-port=${port}`, '--endpoint-address=none']
  return await edge(world, hub, { name: 'causeway', node, port, flags })
}

/** An edge that leads bytes through its tunnel and looks into none of them. */
export async function startTunnel(world: World, hub: Hub): Promise<Way> {
  const [port = 0, endpointPort = 0] = await freePorts(2)
  const unused = [`--endpoint-port=${endpointPort}`, '--endpoint-address=none']
  const flags = [`--target=kube-apiserver:443:${port}`, '--bind-address=127.0.0.1', ...unused]
  return await (await edge(world, hub, { name: 'tunnel only', node: 'edge-2', port, flags })).start()
}

interface EdgeWish {
  readonly name: string
  readonly node: string
  readonly port: number
  readonly flags: readonly string[]
}

async function edge(world: World, hub: Hub, { name, node, port, flags }: EdgeWish): Promise<Restartable> {
  const { folder, cluster, profileDir } = world
  const [healthPort = 0] = await freePorts(1)
  const own = [`--hub=${hub.url}`, `--node-name=${node}`, `--data-dir=${folder}/${node}`]
  const all = ['edge', ...own, `--health-address=127.0.0.1:${healthPort}`, ...flags]
  const wayOf = (child: ChildProcess): Way => ({
    name,
    server: `https://127.0.0.1:${port}`,
    metricsUrl: `http://127.0.0.1:${healthPort}/metrics`,
    agent: [child],
    cloud: [hub.child],
    stop: () => endProcess(child),
  })
  const start = async (): Promise<Way> => {
    const tokenFile = join(folder, `${node}.token`)
    const kubeconfig = `--kubeconfig=${cluster.plane.kubeconfigFile}`
    writeFileSync(tokenFile, await runCommand(['token', 'create', kubeconfig, `--node=${node}`]))
    const way = wayOf((await startCommand([...all, `--token-file=${tokenFile}`], profileDir)).child)
    await answering(way, world)
    return way
  }
  return { start, restart: () => wayOf(spawnCommand(all, profileDir)) }
}

/** Waits until a client gets through, and ends the way if none does. */
export async function answering(way: Way, { cluster }: World): Promise<void> {
  const ask = (): Promise<string> => statusOf(`${way.server}/api/v1/namespaces/default`, cluster.tokens[0])
  const status = await poll(ask, (each) => each === '200', startPolling)
  if (status === '200') return
  await way.stop()
  throw new Error(`${way.name} does not answer on ${way.server}: ${status}`)
}

/**
 * Of an answer that was read to its end, else why there is none. Which certificate a way has is the load generator's business, which
 * checks it.
 */
export function statusOf(url: string, token = '', userAgent = 'causeway-bench/1.0'): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'user-agent': userAgent }
  return new Promise((resolve) => {
    const sent = request(url, { headers, agent: false, rejectUnauthorized: false }, (response) => {
      response.resume()
      response.on('end', () => resolve(String(response.statusCode)))
      response.on('error', (error) => resolve(error.message))
    })
    sent.on('error', (error) => resolve(error.message))
    sent.end()
  })
}

/** JSON is YAML. */
export function kubeconfigText(plane: BenchCluster['plane'], token: string): string {
  const cluster = { server: plane.server, 'certificate-authority-data': readFileSync(plane.caFile).toString('base64') }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'bench', cluster }],
    users: [{ name: 'bench', user: { token } }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
    'current-context': 'bench',
  })
}
