/**
 * A real kubelet with a containerd of its own, as a node without a network plugin. It needs root, as every kubelet does,
 * and leaves nothing behind: no mounts, no processes, no files, and the kernel's settings as they were.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../../src/telemetry/clock.ts'
import { Daemon, freePorts, peersDirectory } from './control-plane.ts'

const run = promisify(execFile)

const containerdTimeoutMs = 30_000
const containerdPollMs = 200
const logLinks = '/var/log/containers'

export interface NodeOptions {
  readonly name: string
  readonly server: string
  readonly caPem: string
  /** Lets the kubelet ask for its first certificate. */
  readonly bootstrapToken: string
  /** Any free one without it. */
  readonly kubeletPort?: number
  /** A name of `ip netns`; the node has no other network then. */
  readonly networkNamespace?: string
  /** Where there is no default route to find it by. */
  readonly nodeIp?: string
  /** An archive of images, of which this is the one to hold pods together; without it no pod can run. */
  readonly images?: { readonly archive: string; readonly sandbox: string }
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
    const [containerd, kubelet] = daemons
    await kubelet?.kill()
    if (containerd !== undefined && !containerd.ended) await endContainers(directory)
    await containerd?.kill()
    await unmountAll(directory)
    await removeLogLinks(directory)
    await restoreKernelSettings(settings)
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await mkdir(join(directory, 'cni'))
    await writeFile(join(directory, 'containerd.toml'), containerdConfig(directory, options.images?.sandbox))
    const containerd = ['--config', join(directory, 'containerd.toml')]
    daemons.push(await startInNamespace('containerd', directory, containerd, options.networkNamespace))
    if (options.images !== undefined) await importImages(directory, options.images.archive)
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

async function startKubelet(directory: string, options: NodeOptions): Promise<Daemon> {
  const { name, server, caPem, bootstrapToken, networkNamespace, nodeIp } = options
  const file = (base: string): string => join(directory, base)
  await writeFile(file('ca.crt'), caPem)
  const port = options.kubeletPort ?? (await freePorts(1))[0] ?? 0
  await writeFile(file('kubelet.json'), JSON.stringify(kubeletConfig(directory, port)))
  await writeFile(file('bootstrap.kubeconfig'), JSON.stringify(bootstrapConfig(server, file('ca.crt'), bootstrapToken)))
  const args = [
    `--config=${file('kubelet.json')}`,
    `--bootstrap-kubeconfig=${file('bootstrap.kubeconfig')}`,
    `--kubeconfig=${file('kubelet.kubeconfig')}`,
    `--hostname-override=${name}`,
    `--root-dir=${file('kubelet')}`,
    `--cert-dir=${file('pki')}`,
    ...(nodeIp === undefined ? [] : [`--node-ip=${nodeIp}`]),
  ]
  return await startInNamespace('kubelet', directory, args, networkNamespace)
}

/** By `nsenter`: `ip netns exec` gives a new /sys, in which the kubelet finds no control groups. */
async function startInNamespace(
  name: 'containerd' | 'kubelet',
  directory: string,
  args: readonly string[],
  networkNamespace: string | undefined,
): Promise<Daemon> {
  const program = name === 'kubelet' ? join(peersDirectory(), name) : findProgram(name)
  if (networkNamespace === undefined) return await Daemon.start(name, directory, args, program)
  const entered = [`--net=/run/netns/${networkNamespace}`, program ?? name, ...args]
  return await Daemon.start(name, directory, entered, 'nsenter')
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
    podLogsDir: join(directory, 'pod-logs'),
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
function containerdConfig(directory: string, sandboxImage: string | undefined): string {
  const text = (value: string): string => JSON.stringify(value)
  return [
    'version = 2',
    `root = ${text(join(directory, 'containerd/root'))}`,
    `state = ${text(join(directory, 'containerd/state'))}`,
    '[grpc]',
    `address = ${text(socketOf(directory))}`,
    '[plugins."io.containerd.grpc.v1.cri"]',
    'restrict_oom_score_adj = true',
    ...(sandboxImage === undefined ? [] : [`sandbox_image = ${text(sandboxImage)}`]),
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

/** Asks containerd until it is there to answer. */
async function importImages(directory: string, archive: string): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + containerdTimeoutMs
  while (!(await ctr(directory, 'version').then(Boolean, () => false))) {
    if (systemClock.monotonicMs() > deadlineMs) throw new Error('containerd does not answer')
    await systemClock.sleep(containerdPollMs)
  }
  await ctr(directory, 'images', 'import', '--snapshotter', 'native', archive)
}

/** Containers outlive the kubelet and containerd. Those of a pod share a process that may end under the next call. */
async function endContainers(directory: string): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + containerdTimeoutMs
  for (;;) {
    const containers = (await ctr(directory, 'tasks', 'list', '--quiet')).split('\n').filter((id) => id !== '')
    if (containers.length === 0) return
    if (systemClock.monotonicMs() > deadlineMs) throw new Error(`containers do not end: ${containers.join(', ')}`)
    for (const id of containers) await ctr(directory, 'tasks', 'delete', '--force', id).catch(() => {})
  }
}

async function ctr(directory: string, ...args: string[]): Promise<string> {
  const { stdout } = await run('ctr', ['--address', socketOf(directory), '--namespace', 'k8s.io', ...args])
  return stdout
}

/** The kubelet leaves links to the logs of its pods where agents for logs look for them. */
async function removeLogLinks(directory: string): Promise<void> {
  const links = await readdir(logLinks).catch(() => [])
  for (const link of links.map((name) => join(logLinks, name))) {
    const leadsTo = await readlink(link).catch(() => '')
    if (leadsTo.startsWith(`${directory}/`)) await rm(link)
  }
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
