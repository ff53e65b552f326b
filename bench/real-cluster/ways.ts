/** The ways to the API server that are compared. */
import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePorts, kubectl } from '../../test/real/control-plane.ts'
import { endProcess, runCommand, startCommand } from '../tunnel/processes.ts'
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
  const [port = 0] = await freePorts(1)
  const flags = [`--endpoint-port=${port}`, '--endpoint-address=none']
  return await startEdge(world, hub, { name: 'causeway', node: 'edge-1', port, flags })
}

/** An edge that leads bytes through its tunnel and looks into none of them. */
export async function startTunnel(world: World, hub: Hub): Promise<Way> {
  const [port = 0, endpointPort = 0] = await freePorts(2)
  const unused = [`--endpoint-port=${endpointPort}`, '--endpoint-address=none']
  const flags = [`--target=kube-apiserver:443:${port}`, '--bind-address=127.0.0.1', ...unused]
  return await startEdge(world, hub, { name: 'tunnel only', node: 'edge-2', port, flags })
}

interface EdgeWish {
  readonly name: string
  readonly node: string
  readonly port: number
  readonly flags: readonly string[]
}

async function startEdge(world: World, hub: Hub, { name, node, port, flags }: EdgeWish): Promise<Way> {
  const { folder, cluster, profileDir } = world
  const tokenFile = join(folder, `${node}.token`)
  const kubeconfig = `--kubeconfig=${cluster.plane.kubeconfigFile}`
  writeFileSync(tokenFile, await runCommand(['token', 'create', kubeconfig, `--node=${node}`]))
  const own = [`--hub=${hub.url}`, `--node-name=${node}`, `--data-dir=${folder}/${node}`]
  const { child } = await startCommand(['edge', ...own, `--token-file=${tokenFile}`, ...flags], profileDir)
  const way: Way = {
    name,
    server: `https://127.0.0.1:${port}`,
    agent: [child],
    cloud: [hub.child],
    stop: () => endProcess(child),
  }
  await answering(way, world)
  return way
}

/** Waits until a client gets through, and ends the way if none does. */
export async function answering(way: Way, { cluster }: World): Promise<void> {
  const untilMs = performance.now() + patienceMs
  let status = await statusOf(way.server, cluster)
  while (status !== '200') {
    if (performance.now() > untilMs) {
      await way.stop()
      throw new Error(`${way.name} does not answer on ${way.server}: ${status}`)
    }
    await sleep(pollMs)
    status = await statusOf(way.server, cluster)
  }
}

/** Which certificate a way has is the load generator's business, which checks it. */
function statusOf(server: string, { tokens }: BenchCluster): Promise<string> {
  const headers = { authorization: `Bearer ${tokens[0]}` }
  return new Promise((resolve) => {
    const url = `${server}/api/v1/namespaces/default`
    const sent = request(url, { headers, agent: false, rejectUnauthorized: false }, (response) => {
      response.resume()
      resolve(String(response.statusCode))
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
