/** The tunnels that are compared. Each has a server side that stays and a far side that is made anew for every length of line. */
import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { KubeClient } from '../../src/kube/client/client.ts'
import { loadConnection } from '../../src/kube/client/default-connection.ts'
import { nodes } from '../../src/kube/client/kinds.ts'
import { freePorts, peersDirectory } from '../../test/real/control-plane.ts'
import type { BareApi } from './bare.ts'
import type { Certificates } from './certificates.ts'
import type { Door } from './line.ts'
import { endProcess, runCommand, startCommand, startProgram, startRole } from './processes.ts'

/** Ports are found free and used a little later; a server needs a moment. */
const patienceMs = 20_000

/** The port at which the far side finds `port`: itself, or a long line to it. */
export type Via = (port: number) => Promise<number>

export interface Contestant {
  readonly name: string
  /** Starts the far side, ending the one before. */
  readonly reach: (via: Via) => Promise<void>
  readonly door: (originPort: number) => Door
  /** Both sides of the tunnel. */
  readonly processes: () => ChildProcess[]
  readonly stop: () => Promise<void>
}

export interface World {
  readonly folder: string
  readonly originPort: number
  readonly certificates: Certificates
  readonly profileDir: string | undefined
}

export interface Ours {
  /** From the cloud into the edge, by the CONNECT front. */
  readonly front: Contestant
  /** From the edge to the cloud, by ports that the edge listens on. */
  readonly target: Contestant
  /** More ways into the same edge: each takes a limited number of connections. */
  readonly doors: (originPort: number) => Door[]
}

export interface RunningHub {
  readonly child: ChildProcess
  readonly url: string
  readonly kubeconfig: string
  stop(): Promise<void>
}

/** A hub and the API server that it keeps its state in. */
export async function startHub(folder: string, flags: readonly string[], profileDir?: string): Promise<RunningHub> {
  const api = await startCommand(['apiserver', `--data-dir=${folder}/api`, '--secure-port=0', '--storage=memory'])
  const kubeconfig = join(folder, 'api/admin.kubeconfig')
  const own = ['--listen=127.0.0.1:0', '--advertise=127.0.0.1', `--data-dir=${folder}/hub`]
  const { child, line } = await startCommand(['hub', `--kubeconfig=${kubeconfig}`, ...own, ...flags], profileDir)
  return {
    child,
    url: /https:\/\/\S+/.exec(line)?.[0] ?? '',
    kubeconfig,
    stop: async () => {
      await endProcess(child)
      await endProcess(api.child)
    },
  }
}

/** Loopback is nobody's unless a Node has it for its address. */
async function registerNode(kubeconfig: string, name: string): Promise<void> {
  const client = new KubeClient(await loadConnection({ environment: {}, file: kubeconfig }))
  try {
    const made = await client.resource(nodes).create({ metadata: { name } })
    const status = { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] }
    await client
      .resource(nodes)
      .subresource(name, 'status')
      .update({ ...made, status })
  } finally {
    await client.close()
  }
}

/** Only the tunnel is measured here. */
const noEndpoint = ['--endpoint-address=none', '--endpoint-port=0']

export async function startOurs({ folder, originPort, profileDir }: World): Promise<Ours> {
  const path = join(folder, 'causeway.sock')
  const flags = [`--connect-front=unix:${path}`, `--allow-target=127.0.0.1:${originPort}`]
  const hub = await startHub(folder, flags, profileDir)
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, await runCommand(['token', 'create', `--kubeconfig=${hub.kubeconfig}`, '--node=edge-1']))
  const identity = ['--node-name=edge-1', `--data-dir=${folder}/edge`]
  await runCommand(['edge', 'join', `--hub=${hub.url}`, `--token-file=${tokenFile}`, ...identity])

  await registerNode(hub.kubeconfig, 'edge-1')

  const localPorts = await freePorts(2)
  const doors = (destinationPort: number): Door[] => [
    { kind: 'connect', path, destination: `127.0.0.1:${destinationPort}` },
    ...localPorts.map((port) => ({ kind: 'port', port }) as const),
  ]
  let edge: ChildProcess | undefined
  const reach = async (via: Via): Promise<void> => {
    await endProcess(edge)
    const port = await via(Number(new URL(hub.url).port))
    const targets = localPorts.map((localPort) => `--target=127.0.0.1:${originPort}:${localPort}`)
    const flags = ['--bind-address=127.0.0.1', '--allow-destination=127.0.0.1:*', '--carrier=tls', ...targets]
    const started = await startCommand(
      ['edge', `--hub=https://127.0.0.1:${port}`, ...identity, ...noEndpoint, ...flags],
      profileDir,
    )
    edge = started.child
  }
  const shared = { processes: () => (edge === undefined ? [hub.child] : [hub.child, edge]), reach }
  const stop = async (): Promise<void> => {
    await endProcess(edge)
    await hub.stop()
  }
  const target: Door = { kind: 'port', port: localPorts[0] ?? 0 }
  return {
    front: { name: 'causeway', ...shared, door: (port) => doors(port)[0] ?? target, stop },
    target: { name: 'target', ...shared, reach: async () => {}, door: () => target, stop: async () => {} },
    doors,
  }
}

export async function startKonnectivity({ folder, certificates }: World): Promise<Contestant> {
  const file = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const path = join(folder, 'konnectivity.sock')
  const ca = file('k.ca', certificates.caPem)
  const [port = 0, health, admin, agentHealth, agentAdmin] = await freePorts(5)
  // Their default level of logging would be measured too.
  const quiet = '--v=0'
  const server = startPeer('konnectivity-server', [
    '--mode=http-connect',
    `--uds-name=${path}`,
    '--server-port=0',
    '--agent-bind-address=127.0.0.1',
    `--agent-port=${port}`,
    `--cluster-cert=${file('k.crt', certificates.server.cert)}`,
    `--cluster-key=${file('k.key', certificates.server.key)}`,
    `--cluster-ca-cert=${ca}`,
    '--health-bind-address=127.0.0.1',
    `--health-port=${health}`,
    `--admin-port=${admin}`,
    quiet,
  ])
  await answering(port)
  const pair = [
    `--agent-cert=${file('a.crt', certificates.client.cert)}`,
    `--agent-key=${file('a.key', certificates.client.key)}`,
  ]
  const agentPorts = [
    '--health-server-host=127.0.0.1',
    `--health-server-port=${agentHealth}`,
    `--admin-server-port=${agentAdmin}`,
  ]
  let agent: ChildProcess | undefined
  return {
    name: 'konnectivity',
    reach: async (via) => {
      // It drains at the first signal and stays.
      agent?.kill('SIGKILL')
      const to = ['--proxy-server-host=127.0.0.1', `--proxy-server-port=${await via(port)}`, `--ca-cert=${ca}`]
      agent = startPeer('konnectivity-agent', [...to, ...pair, ...agentPorts, '--agent-id=edge-1', quiet])
    },
    door: (originPort) => ({ kind: 'connect', path, destination: `127.0.0.1:${originPort}` }),
    processes: () => (agent === undefined ? [server] : [server, agent]),
    stop: async () => {
      agent?.kill('SIGKILL')
      await endProcess(server)
    },
  }
}

export async function startBare({ folder, originPort, certificates }: World): Promise<Contestant> {
  const far = startRole<BareApi>('bare')
  const farPort = await far.calls.far({ ...certificates.server, toPort: originPort })
  let near: ReturnType<typeof startRole<BareApi>> | undefined
  let path = ''
  let made = 0
  return {
    name: 'bare',
    reach: async (via) => {
      await endProcess(near?.child)
      made += 1
      path = join(folder, `bare-${made}.sock`)
      near = startRole<BareApi>('bare')
      await near.calls.near({ path, toPort: await via(farPort) })
    },
    door: (port) => ({ kind: 'connect', path, destination: `127.0.0.1:${port}` }),
    processes: () => (near === undefined ? [far.child] : [far.child, near.child]),
    stop: async () => {
      await endProcess(near?.child)
      await endProcess(far.child)
    },
  }
}

function startPeer(name: string, args: readonly string[]): ChildProcess {
  const child = startProgram(join(peersDirectory(), name), args, 'ignore')
  child.stdout?.resume()
  return child
}

async function answering(port: number): Promise<void> {
  const untilMs = performance.now() + patienceMs
  while (performance.now() < untilMs) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const probe = connect({ port, host: '127.0.0.1' }, () => resolve(true)).on('error', () => resolve(false))
      probe.on('connect', () => probe.destroy())
    })
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`nobody answers on port ${port}`)
}
