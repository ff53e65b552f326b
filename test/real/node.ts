/**
 * A real kubelet with a containerd of its own, as a node without a network plugin. It needs root, as every kubelet does,
 * and leaves nothing behind: no mounts, no processes, no files, and the kernel's settings as they were.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { Daemon, freePorts } from './control-plane.ts'

const run = promisify(execFile)

export interface NodeOptions {
  readonly name: string
  readonly server: string
  readonly caPem: string
  /** Lets the kubelet ask for its first certificate. */
  readonly bootstrapToken: string
}

export interface RealNode {
  /** Gives containerd a network configuration: without one the node is not ready. */
  addNetwork(): Promise<void>
  stop(): Promise<void>
}

/** What this machine lacks to run a node, besides the kubelet. */
export function missingForNode(): string[] {
  const needed: [string, boolean][] = [
    ['Linux', process.platform === 'linux'],
    ['root', process.getuid?.() === 0],
    ['containerd', findProgram('containerd') !== undefined],
    ['runc', findProgram('runc') !== undefined],
  ]
  return needed.filter(([, isThere]) => !isThere).map(([what]) => what)
}

export async function startNode(options: NodeOptions): Promise<RealNode> {
  const settings = await readKernelSettings()
  const directory = await mkdtemp(join(tmpdir(), 'causeway-node-'))
  const daemons: Daemon[] = []
  const stop = async (): Promise<void> => {
    for (const daemon of daemons.toReversed()) await daemon.kill()
    await unmountAll(directory)
    await restoreKernelSettings(settings)
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await mkdir(join(directory, 'cni'))
    await writeFile(join(directory, 'containerd.toml'), containerdConfig(directory))
    const containerd = ['--config', join(directory, 'containerd.toml')]
    daemons.push(await Daemon.start('containerd', directory, containerd, findProgram('containerd')))
    daemons.push(await startKubelet(directory, options))
    return {
      addNetwork: () => writeFile(join(directory, 'cni', '10-pods.conflist'), JSON.stringify(networkConfig)),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startKubelet(directory: string, { name, server, caPem, bootstrapToken }: NodeOptions): Promise<Daemon> {
  const file = (base: string): string => join(directory, base)
  await writeFile(file('ca.crt'), caPem)
  const [port = 0] = await freePorts(1)
  await writeFile(file('kubelet.json'), JSON.stringify(kubeletConfig(directory, port)))
  await writeFile(file('bootstrap.kubeconfig'), JSON.stringify(bootstrapConfig(server, file('ca.crt'), bootstrapToken)))
  return await Daemon.start('kubelet', directory, [
    `--config=${file('kubelet.json')}`,
    `--bootstrap-kubeconfig=${file('bootstrap.kubeconfig')}`,
    `--kubeconfig=${file('kubelet.kubeconfig')}`,
    `--hostname-override=${name}`,
    `--root-dir=${file('kubelet')}`,
    `--cert-dir=${file('pki')}`,
  ])
}

function kubeletConfig(directory: string, port: number): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(directory, 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    rotateCertificates: true,
    serverTLSBootstrap: true,
    address: '127.0.0.1',
    port,
    healthzPort: 0,
    containerRuntimeEndpoint: `unix://${socketOf(directory)}`,
    resolvConf: '/etc/resolv.conf',
    // Whatever the machine has: old control groups, swap, a firewall that is none of our business.
    cgroupDriver: 'cgroupfs',
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '0%', 'imagefs.available': '0%' },
  }
}

function bootstrapConfig(server: string, caFile: string, token: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'cluster', cluster: { server, 'certificate-authority': caFile } }],
    users: [{ name: 'bootstrap', user: { token } }],
    contexts: [{ name: 'bootstrap', context: { cluster: 'cluster', user: 'bootstrap' } }],
    'current-context': 'bootstrap',
  }
}

/** The `native` snapshotter works on every file system; a container without CAP_SYS_RESOURCE cannot raise OOM scores. */
function containerdConfig(directory: string): string {
  const text = (value: string): string => JSON.stringify(value)
  return [
    'version = 2',
    `root = ${text(join(directory, 'containerd/root'))}`,
    `state = ${text(join(directory, 'containerd/state'))}`,
    '[grpc]',
    `address = ${text(socketOf(directory))}`,
    '[plugins."io.containerd.grpc.v1.cri"]',
    'restrict_oom_score_adj = true',
    '[plugins."io.containerd.grpc.v1.cri".cni]',
    `bin_dir = ${text(join(directory, 'cni-bin'))}`,
    `conf_dir = ${text(join(directory, 'cni'))}`,
    '[plugins."io.containerd.grpc.v1.cri".containerd]',
    'snapshotter = "native"',
    '',
  ].join('\n')
}

const networkConfig = { cniVersion: '0.4.0', name: 'pods', plugins: [{ type: 'bridge' }] }

function socketOf(directory: string): string {
  return join(directory, 'containerd.sock')
}

/** The kubelet mounts its folder over itself and tokens into it, and a killed one takes nothing away. */
async function unmountAll(directory: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').flatMap((line) => line.split(' ')[1] ?? [])
  const ours = mounts.filter((path) => path.startsWith(`${directory}/`))
  for (const path of ours.toReversed()) await run('umount', ['-l', path])
}

/** What a kubelet sets for the whole machine when it starts, asked or not. */
const kernelSettings = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
].map((name) => `/proc/sys/${name}`)

async function readKernelSettings(): Promise<Map<string, string>> {
  const present = kernelSettings.filter((file) => existsSync(file))
  return new Map(await Promise.all(present.map(async (file) => [file, await readFile(file, 'utf8')] as const)))
}

async function restoreKernelSettings(before: ReadonlyMap<string, string>): Promise<void> {
  const now = await readKernelSettings()
  for (const [file, value] of before) if (now.get(file) !== value) await writeFile(file, value)
}

function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}
