/**
 * A real kubelet with a containerd of its own, as a node without a network plugin unless one is asked for. It needs root,
 * as every kubelet does, and leaves nothing behind: no mounts, no processes, no files, no network namespaces of pods, and
 * the kernel's settings as they were.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../../src/runtime/clock.ts'
import { removeFolder } from '../remove-folder.ts'
import { Daemon, freePorts, peersDirectory } from './control-plane.ts'
import { killContainers } from './node-containers.ts'

const run = promisify(execFile)

const containerdTimeoutMs = 90_000
const containerdPollMs = 200
const logLinks = '/var/log/containers'
/** Where Debian has the plugins that lay cables to pods. */
const networkPlugins = '/usr/lib/cni'
/** Where containerd remembers what they did, whichever folders it is given. */
const networkResults = '/var/lib/cni/results'
const networkName = 'pods'

export type NodeOptions = NodeBasics & (Bootstrapped | Configured)

/** A kubelet that asks for its first certificate. */
interface Bootstrapped {
  readonly server: string
  readonly bootstrapToken: string
}

/** A kubelet that has a certificate, which somebody else renews. */
interface Configured {
  readonly kubeconfigFile: string
}

interface NodeBasics {
  readonly name: string
  readonly caPem: string
  /** Any free one without it. */
  readonly kubeletPort?: number
  /** A name of `ip netns`; the node has no other network then. */
  readonly networkNamespace?: string
  /** Where there is no default route to find it by. */
  readonly nodeIp?: string
  /** An archive of images, of which this is the one to hold pods together; without it no pod can run. */
  readonly images?: { readonly archive: string; readonly sandbox: string }
  /** Addresses for pods, such as `10.244.1.0/24`; without them only pods in the network of the node can run. */
  readonly podAddresses?: string
}

export interface RealNode {
  /** Ends the kubelet alone and starts it again; pods stay. */
  restartKubelet(): Promise<void>
  /** Gives containerd a network configuration: without one the node is not ready. */
  addNetwork(): Promise<void>
  /** Everything ends at once, and what was in memory is gone: processes, mounts, networks of pods. Disks stay. */
  cutPower(): Promise<void>
  /** Starts containerd and the kubelet, as at boot. */
  powerOn(): Promise<void>
  /** What the containers of a pod wrote, by the name of the pod: read from the node's own disk. */
  podLogs(pod: string): Promise<string>
  /** Runs a command in the running container of a pod, without the API server. */
  execInPod(pod: string, ...command: string[]): Promise<string>
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
  let containerd: Daemon | undefined
  let kubelet: Daemon | undefined
  const stop = async (): Promise<void> => {
    await kubelet?.kill()
    try {
      if (containerd !== undefined && !containerd.ended) await endContainers(directory)
    } finally {
      await containerd?.kill()
      await unmountAll(directory)
      await removeLogLinks(directory)
      await restoreKernelSettings(settings)
      removeFolder(directory)
    }
  }
  try {
    await mkdir(join(directory, 'cni'))
    await writeFile(join(directory, 'containerd.toml'), containerdConfig(directory, options))
    const startContainerd = async (): Promise<Daemon> =>
      await startInNamespace(
        'containerd',
        directory,
        ['--config', join(directory, 'containerd.toml')],
        options.networkNamespace,
      )
    containerd = await startContainerd()
    if (options.images !== undefined) await importImages(directory, options.images.archive)
    kubelet = await startKubelet(directory, options)
    const network = JSON.stringify(networkConfig(directory, options.podAddresses))
    return {
      addNetwork: () => writeFile(join(directory, 'cni', '10-pods.conflist'), network),
      restartKubelet: async () => {
        await kubelet?.kill()
        kubelet = await startKubelet(directory, options)
      },
      cutPower: async () => {
        await kubelet?.kill()
        await losePower(directory, containerd, options.networkNamespace)
      },
      powerOn: async () => {
        containerd = await startContainerd()
        // A kubelet that finds none ends, and nobody here starts it again.
        await untilContainerdAnswers(directory)
        kubelet = await startKubelet(directory, options)
      },
      podLogs: (pod) => readPodLogs(directory, pod),
      execInPod: (pod, ...command) => execInPod(directory, pod, command),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startKubelet(directory: string, options: NodeOptions): Promise<Daemon> {
  const { name, caPem, networkNamespace, nodeIp } = options
  const file = (base: string): string => join(directory, base)
  await writeFile(file('ca.crt'), caPem)
  const port = options.kubeletPort ?? (await freePorts(1))[0] ?? 0
  const isBootstrapped = 'bootstrapToken' in options
  const config = { ...kubeletConfig(directory, port), rotateCertificates: isBootstrapped }
  await writeFile(file('kubelet.json'), JSON.stringify(config))
  const args = [
    `--config=${file('kubelet.json')}`,
    ...(isBootstrapped ? await bootstrapFlags(directory, options) : [`--kubeconfig=${options.kubeconfigFile}`]),
    `--hostname-override=${name}`,
    `--root-dir=${file('kubelet')}`,
    `--cert-dir=${file('pki')}`,
    ...(nodeIp === undefined ? [] : [`--node-ip=${nodeIp}`]),
  ]
  return await startInNamespace('kubelet', directory, args, networkNamespace)
}

async function bootstrapFlags(directory: string, { server, bootstrapToken }: Bootstrapped): Promise<string[]> {
  const file = join(directory, 'bootstrap.kubeconfig')
  await writeFile(file, JSON.stringify(bootstrapConfig(server, join(directory, 'ca.crt'), bootstrapToken)))
  return [`--bootstrap-kubeconfig=${file}`, `--kubeconfig=${join(directory, 'kubelet.kubeconfig')}`]
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
function containerdConfig(directory: string, { images, podAddresses }: NodeOptions): string {
  const plugins = podAddresses === undefined ? join(directory, 'cni-bin') : networkPlugins
  const text = (value: string): string => JSON.stringify(value)
  return [
    'version = 2',
    `root = ${text(join(directory, 'containerd/root'))}`,
    `state = ${text(join(directory, 'containerd/state'))}`,
    '[grpc]',
    `address = ${text(socketOf(directory))}`,
    '[plugins."io.containerd.grpc.v1.cri"]',
    'restrict_oom_score_adj = true',
    ...(images === undefined ? [] : [`sandbox_image = ${text(images.sandbox)}`]),
    '[plugins."io.containerd.grpc.v1.cri".cni]',
    `bin_dir = ${text(plugins)}`,
    `conf_dir = ${text(join(directory, 'cni'))}`,
    '[plugins."io.containerd.grpc.v1.cri".containerd]',
    'snapshotter = "native"',
    '',
  ].join('\n')
}

/** A bridge of which the node has the first address; nobody translates the addresses of pods. */
function networkConfig(directory: string, podAddresses: string | undefined): object {
  const bridge = { type: 'bridge', bridge: 'cni0', isGateway: true, ipam: addressManager(directory, podAddresses) }
  return { cniVersion: '0.4.0', name: networkName, plugins: [podAddresses === undefined ? { type: 'bridge' } : bridge] }
}

function addressManager(directory: string, subnet: string | undefined): object {
  const dataDir = join(directory, 'cni-addresses')
  return { type: 'host-local', dataDir, ranges: [[{ subnet }]], routes: [{ dst: '0.0.0.0/0' }] }
}

function socketOf(directory: string): string {
  return join(directory, 'containerd.sock')
}

async function importImages(directory: string, archive: string): Promise<void> {
  await untilContainerdAnswers(directory)
  await ctr(directory, 'images', 'import', '--snapshotter', 'native', archive)
}

async function untilContainerdAnswers(directory: string): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + containerdTimeoutMs
  while (!(await ctr(directory, 'version').then(Boolean, () => false))) {
    if (systemClock.monotonicMs() > deadlineMs) throw new Error('containerd does not answer')
    await systemClock.sleep(containerdPollMs)
  }
}

/** Containers outlive the kubelet and containerd. Those of a pod share a process that may end under the next call. */
async function endContainers(directory: string): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + containerdTimeoutMs
  const networks = await podNetworks(directory)
  for (;;) {
    const containers = await list(directory, 'tasks')
    if (containers.length === 0) break
    if (systemClock.monotonicMs() > deadlineMs) throw new Error(`containers do not end: ${containers.join(', ')}`)
    for (const id of containers) await ctr(directory, 'tasks', 'delete', '--force', id).catch(() => {})
  }
  for (const { name, container } of networks) {
    await run('ip', ['netns', 'delete', name]).catch(() => {})
    for (const device of [`${networkName}-${container}-eth0`, `cni-loopback-${container}-lo`])
      await rm(join(networkResults, device), { force: true })
  }
}

/** What a machine forgets when its power goes, and no more. */
async function losePower(directory: string, containerd: Daemon | undefined, namespace?: string): Promise<void> {
  const networks = await podNetworks(directory)
  await containerd?.kill()
  await killContainers(directory)
  for (const { name } of networks) await run('ip', ['netns', 'delete', name]).catch(() => {})
  if (namespace !== undefined) await run('ip', ['-n', namespace, 'link', 'delete', 'cni0']).catch(() => {})
  await unmountAll(directory)
  await rm(join(directory, 'containerd/state'), { recursive: true, force: true })
  await rm(socketOf(directory), { force: true })
}

async function readPodLogs(directory: string, pod: string): Promise<string> {
  const folder = join(directory, 'pod-logs')
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const files = names.filter((name) => name.includes(`_${pod}_`) && name.endsWith('.log')).toSorted()
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')))
  return texts.join('')
}

async function execInPod(directory: string, pod: string, command: readonly string[]): Promise<string> {
  const of = `labels."io.kubernetes.pod.name"==${pod},labels."io.cri-containerd.kind"==container`
  const known = (await ctr(directory, 'containers', 'list', '--quiet', of)).split('\n').filter((id) => id !== '')
  const running = await list(directory, 'tasks')
  const tasks = await ctr(directory, 'tasks', 'list')
  const id = known.find((one) => running.includes(one) && new RegExp(`${one}\\s+\\d+\\s+RUNNING`).test(tasks))
  if (id === undefined) throw new Error(`pod ${pod} does not run`)
  return await ctr(directory, 'tasks', 'exec', '--exec-id', `test-${execs++}`, id, ...command)
}

let execs = 0

/** Network namespaces that were made for pods; every container of a pod names the same one. */
async function podNetworks(directory: string): Promise<{ name: string; container: string }[]> {
  const found = await Promise.all(
    (await list(directory, 'containers')).map(async (container) => {
      const text = await ctr(directory, 'containers', 'info', container).catch(() => '')
      const name = /"\/(?:var\/)?run\/netns\/(cni-[\w-]+)"/.exec(text)?.[1]
      return name === undefined ? [] : [{ name, container }]
    }),
  )
  return found.flat()
}

async function list(directory: string, kind: 'tasks' | 'containers'): Promise<string[]> {
  return (await ctr(directory, kind, 'list', '--quiet')).split('\n').filter((id) => id !== '')
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
    if (leadsTo.startsWith(`${directory}/`)) await rm(link, { force: true })
  }
}

/**
 * The kubelet mounts its folder over itself and tokens into it, and a killed one takes nothing away. What belonged to
 * containers is unmounted by processes that outlive them for a moment, maybe under our hands.
 */
async function unmountAll(directory: string): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + containerdTimeoutMs
  for (;;) {
    const ours = await mountsIn(directory)
    if (ours.length === 0) return
    if (systemClock.monotonicMs() > deadlineMs) throw new Error(`still mounted: ${ours.join(', ')}`)
    for (const path of ours.toReversed()) await run('umount', ['-l', path]).catch(() => {})
  }
}

async function mountsIn(directory: string): Promise<string[]> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').flatMap((line) => line.split(' ')[1] ?? [])
  return mounts.filter((path) => path.startsWith(`${directory}/`))
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
