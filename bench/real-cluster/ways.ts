/** The ways to the API server that are compared. */
import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePorts, kubectl } from '../../test/real/control-plane.ts'
import { endProcess, runCommand, spawnCommand, startCommand } from '../tunnel/processes.ts'
import type { BenchCluster } from './cluster.ts'

const hubRights = fileURLToPath(new URL('../../../deploy/hub-rbac.yaml', import.meta.url))
/** Certificates are asked for, signed and fetched before a port opens. */
const patienceMs = 60_000
const pollMs = 200

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
  return await startEdge(world, await endpointEdge(world, hub, 'edge-1'))
}

/** An edge that leads bytes through its tunnel and looks into none of them. */
export async function startTunnel(world: World, hub: Hub): Promise<Way> {
  const [port = 0] = await freePorts(1)
  const unused = await endpointEdge(world, hub, 'edge-2')
  const flags = [...unused.flags, `--target=kube-apiserver:443:${port}`, '--bind-address=127.0.0.1']
  return await startEdge(world, { ...unused, name: 'tunnel only', port, flags })
}

/** How an edge is started, for the first time or again. */
export interface EdgeWish {
  readonly name: string
  readonly hub: Hub
  readonly node: string
  readonly port: number
  readonly healthPort: number
  readonly flags: readonly string[]
}

export async function endpointEdge({ folder }: World, hub: Hub, node: string): Promise<EdgeWish> {
  const [port = 0, healthPort = 0] = await freePorts(2)
  const own = [`--hub=${hub.url}`, `--node-name=${node}`, `--data-dir=${folder}/${node}`]
  const ports = [`--endpoint-port=${port}`, `--health-address=127.0.0.1:${healthPort}`]
  return { name: 'causeway', hub, node, port, healthPort, flags: [...own, ...ports, '--endpoint-address=none'] }
}

/** For the first time, with a token to join by. */
export async function startEdge(world: World, wish: EdgeWish): Promise<Way> {
  const { folder, cluster, profileDir } = world
  const tokenFile = join(folder, `${wish.node}.token`)
  const kubeconfig = `--kubeconfig=${cluster.plane.kubeconfigFile}`
  writeFileSync(tokenFile, await runCommand(['token', 'create', kubeconfig, `--node=${wish.node}`]))
  const { child } = await startCommand(['edge', ...wish.flags, `--token-file=${tokenFile}`], profileDir)
  const way = edgeWay(wish, child)
  await answering(way, world)
  return way
}

/** Once more, without waiting for anything. */
export function restartEdge({ profileDir }: World, wish: EdgeWish): Way {
  return edgeWay(wish, spawnCommand(['edge', ...wish.flags], profileDir))
}

function edgeWay({ name, hub, port, healthPort }: EdgeWish, child: ChildProcess): Way {
  return {
    name,
    server: `https://127.0.0.1:${port}`,
    metricsUrl: `http://127.0.0.1:${healthPort}/metrics`,
    agent: [child],
    cloud: [hub.child],
    stop: () => endProcess(child),
  }
}

/** Waits until a client gets through, and ends the way if none does. */
export async function answering(way: Way, { cluster }: World): Promise<void> {
  const untilMs = performance.now() + patienceMs
  const ask = (): Promise<string> => statusOf(`${way.server}/api/v1/namespaces/default`, cluster.tokens[0])
  let status = await ask()
  while (status !== '200') {
    if (performance.now() > untilMs) {
      await way.stop()
      throw new Error(`${way.name} does not answer on ${way.server}: ${status}`)
    }
    await sleep(pollMs)
    status = await ask()
  }
}

/**
 * Of an answer that was read to its end, else why there is none. Which certificate a way has is the load generator's business, which
 * checks it.
 */
export function statusOf(url: string, token = ''): Promise<string> {
  const headers = { authorization: `Bearer ${token}` }
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
