/**
 * A real control plane for suites and benches: etcd and kube-apiserver on free loopback ports, all state in one
 * temporary directory, nothing left behind. The binaries come from `CAUSEWAY_PEERS_BIN`, else from the user's cache.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, open, readFile, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../../src/runtime/clock.ts'
import { peersDirectory } from '../../tools/peers/directory.ts'
import { lastingPort } from '../lasting-port.ts'
import { removeFolder } from '../remove-folder.ts'

/** A busy two-core machine needs about ten seconds for a first start, a slow one many times that. */
const readyTimeoutMs = 110_000
const readyPollMs = 100
const logTailBytes = 4_000
const maxOutputBytes = 64 * 1024 * 1024
/** A server says that it is ready before it has made its first namespaces, and its own Service after that. */
const readyPaths = ['/readyz', '/api/v1/namespaces/default', '/api/v1/namespaces/default/services/kubernetes']

const run = promisify(execFile)

export { peersDirectory }

export type Peer = 'etcd' | 'h2spec' | 'kube-apiserver' | 'kube-controller-manager' | 'kubectl' | 'kubelet'

export interface ControlPlane {
  /** `https://127.0.0.1:port` */
  readonly server: string
  readonly caFile: string
  /** The same CA signs client certificates: `admin.crt` and `admin.key` belong to `system:masters`. */
  readonly clientCertificateFile: string
  readonly clientKeyFile: string
  /** A static bearer token in `system:masters`. */
  readonly adminToken: string
  readonly kubeconfigFile: string
  /** `http://127.0.0.1:port`; etcd answers its JSON gateway there too. */
  readonly etcd: string
  readonly directory: string
  /** Ends kube-apiserver with SIGKILL; etcd and the port stay. */
  killApiServer(): Promise<void>
  /** Starts kube-apiserver again on the same port and waits until it is ready. */
  startApiServer(): Promise<void>
  /** Process ids of the daemons. */
  pids(): number[]
  stop(): Promise<void>
}

export interface ControlPlaneOptions {
  readonly apiServerFlags?: readonly string[]
  readonly etcdFlags?: readonly string[]
  /** Further lines of the file of static tokens: `token,user,uid,"group,group"`. */
  readonly staticTokens?: readonly string[]
  /** Whether pods need a ServiceAccount, as they do in a cluster. */
  readonly checksServiceAccounts?: boolean
  /** Addresses in the certificate of kube-apiserver besides that of loopback. */
  readonly serverAddresses?: readonly string[]
  /** Whether etcd waits for its disk; suites are faster without. */
  readonly durable?: boolean
}

export function missingPeers(peers: readonly Peer[]): Peer[] {
  return peers.filter((peer) => !existsSync(join(peersDirectory(), peer)))
}

/** Runs kubectl as the administrator and returns its standard output; a failure carries its standard error. */
export async function kubectl(
  plane: Pick<ControlPlane, 'kubeconfigFile'>,
  args: readonly string[],
  input = '',
): Promise<string> {
  const child = run(join(peersDirectory(), 'kubectl'), ['--kubeconfig', plane.kubeconfigFile, ...args], {
    maxBuffer: maxOutputBytes,
  })
  child.child.stdin?.end(input)
  return (await child).stdout
}

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const missing = missingPeers(['etcd', 'kube-apiserver'])
  if (missing.length > 0)
    throw new Error(`cannot start a control plane: no ${missing.join(', ')} in ${peersDirectory()}`)
  const directory = await mkdtemp(join(tmpdir(), 'causeway-real-'))
  const plane = new LocalControlPlane(directory, await freePorts(3), options)
  try {
    await plane.start()
  } catch (error) {
    await plane.stop()
    throw error
  }
  return plane
}

class LocalControlPlane implements ControlPlane {
  readonly directory: string
  readonly server: string
  readonly etcd: string
  readonly adminToken = randomBytes(16).toString('hex')
  readonly #etcdPeerUrl: string
  readonly #options: ControlPlaneOptions
  #etcdProcess: Daemon | undefined
  #apiServer: Daemon | undefined

  constructor(directory: string, ports: readonly number[], options: ControlPlaneOptions) {
    this.directory = directory
    this.server = `https://127.0.0.1:${ports[0]}`
    this.etcd = `http://127.0.0.1:${ports[1]}`
    this.#etcdPeerUrl = `http://127.0.0.1:${ports[2]}`
    this.#options = options
  }

  get caFile(): string {
    return this.#file('ca.crt')
  }

  get clientCertificateFile(): string {
    return this.#file('admin.crt')
  }

  get clientKeyFile(): string {
    return this.#file('admin.key')
  }

  get kubeconfigFile(): string {
    return this.#file('admin.kubeconfig')
  }

  async start(): Promise<void> {
    await writeAuthority(this.directory)
    const addresses = ['127.0.0.1', ...(this.#options.serverAddresses ?? [])].map((address) => `IP:${address}`)
    const serverNames = ['DNS:kubernetes', 'DNS:localhost', ...addresses].join()
    await issueCertificate(this.directory, 'apiserver', '/CN=kube-apiserver', serverNames)
    await issueCertificate(this.directory, 'admin', '/O=system:masters/CN=admin', undefined)
    const serviceAccountKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    await writeFile(this.#file('sa.key'), serviceAccountKey.export({ type: 'pkcs8', format: 'pem' }))
    const tokens = [`${this.adminToken},admin,admin-uid,"system:masters"`, ...(this.#options.staticTokens ?? [])]
    await writeFile(this.#file('tokens.csv'), `${tokens.join('\n')}\n`)
    await writeFile(this.kubeconfigFile, JSON.stringify(this.#kubeconfig(), null, 2))
    this.#etcdProcess = await Daemon.start('etcd', this.directory, this.#etcdArguments())
    await this.startApiServer()
  }

  async startApiServer(): Promise<void> {
    this.#apiServer = await Daemon.start('kube-apiserver', this.directory, this.#apiServerArguments())
    await this.#waitUntilReady(this.#apiServer)
  }

  async killApiServer(): Promise<void> {
    await this.#apiServer?.kill()
  }

  pids(): number[] {
    return [this.#etcdProcess, this.#apiServer].flatMap((daemon) => daemon?.pid ?? [])
  }

  async stop(): Promise<void> {
    await this.#apiServer?.kill()
    await this.#etcdProcess?.kill()
    removeFolder(this.directory)
  }

  async #waitUntilReady(daemon: Daemon): Promise<void> {
    const ca = await readFile(this.caFile)
    const deadlineMs = systemClock.monotonicMs() + readyTimeoutMs
    for (const path of readyPaths) {
      while (!(await answersOk(this.server + path, ca, this.adminToken))) {
        const late = systemClock.monotonicMs() > deadlineMs
        if (late || daemon.ended) throw new Error(`kube-apiserver is not ready: ${await daemon.logTail()}`)
        await systemClock.sleep(readyPollMs)
      }
    }
  }

  #etcdArguments(): string[] {
    return [
      `--data-dir=${this.#file('etcd')}`,
      `--listen-client-urls=${this.etcd}`,
      `--advertise-client-urls=${this.etcd}`,
      `--listen-peer-urls=${this.#etcdPeerUrl}`,
      `--initial-advertise-peer-urls=${this.#etcdPeerUrl}`,
      `--initial-cluster=default=${this.#etcdPeerUrl}`,
      ...(this.#options.durable === true ? [] : ['--unsafe-no-fsync=true']),
      ...(this.#options.etcdFlags ?? []),
    ]
  }

  #apiServerArguments(): string[] {
    return [
      `--etcd-servers=${this.etcd}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      // A loopback address is no valid endpoint of the `kubernetes` Service; without this the log fills with refusals.
      '--endpoint-reconciler-type=none',
      `--secure-port=${new URL(this.server).port}`,
      `--tls-cert-file=${this.#file('apiserver.crt')}`,
      `--tls-private-key-file=${this.#file('apiserver.key')}`,
      `--client-ca-file=${this.caFile}`,
      `--token-auth-file=${this.#file('tokens.csv')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.#file('sa.key')}`,
      `--service-account-signing-key-file=${this.#file('sa.key')}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      // No controllers run here, so nobody would create the service account that pods are checked against.
      ...(this.#options.checksServiceAccounts === true ? [] : ['--disable-admission-plugins=ServiceAccount']),
      '--allow-privileged=true',
      ...(this.#options.apiServerFlags ?? []),
    ]
  }

  #kubeconfig(): object {
    return {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'real', cluster: { server: this.server, 'certificate-authority': this.caFile } }],
      users: [{ name: 'admin', user: { token: this.adminToken } }],
      contexts: [{ name: 'real', context: { cluster: 'real', user: 'admin' } }],
      'current-context': 'real',
    }
  }

  #file(name: string): string {
    return join(this.directory, name)
  }
}

/** A child process whose output goes to `<name>.log`, and which never outlives this process. */
export class Daemon {
  readonly #child: ChildProcess
  readonly #logFile: string
  readonly #killOnExit = (): void => {
    this.#child.kill('SIGKILL')
  }

  private constructor(child: ChildProcess, logFile: string) {
    this.#child = child
    this.#logFile = logFile
    process.once('exit', this.#killOnExit)
  }

  /** The program is one of the peers unless another is given. */
  static async start(name: string, directory: string, args: readonly string[], program?: string): Promise<Daemon> {
    const logFile = join(directory, `${name}.log`)
    const log = await open(logFile, 'a')
    const child = spawn(program ?? join(peersDirectory(), name), args, {
      cwd: directory,
      stdio: ['ignore', log.fd, log.fd],
    })
    await once(child, 'spawn')
    await log.close()
    return new Daemon(child, logFile)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  async kill(): Promise<void> {
    process.removeListener('exit', this.#killOnExit)
    if (this.ended) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  async logTail(): Promise<string> {
    return (await readFile(this.#logFile, 'utf8')).slice(-logTailBytes)
  }
}

async function writeAuthority(directory: string): Promise<void> {
  await openssl(directory, 'ecparam -name prime256v1 -genkey -noout -out ca.key')
  await openssl(directory, 'req -x509 -new -key ca.key -subj /CN=causeway-real-ca -days 400 -out ca.crt')
}

async function issueCertificate(directory: string, name: string, subject: string, names: string | undefined) {
  const extensions = ['keyUsage=digitalSignature', 'extendedKeyUsage=serverAuth,clientAuth']
  if (names !== undefined) extensions.push(`subjectAltName=${names}`)
  await writeFile(join(directory, `${name}.ext`), extensions.join('\n'))
  await openssl(directory, `ecparam -name prime256v1 -genkey -noout -out ${name}.key`)
  await openssl(directory, `req -new -key ${name}.key -subj ${subject} -out ${name}.csr`)
  const signing = '-CA ca.crt -CAkey ca.key -CAcreateserial -days 2'
  await openssl(directory, `x509 -req -in ${name}.csr ${signing} -extfile ${name}.ext -out ${name}.crt`)
}

async function openssl(directory: string, command: string): Promise<void> {
  await run('openssl', command.split(' '), { cwd: directory })
}

/** Nobody gets them by chance before the daemons take them, nor while a daemon that was killed is started again. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) ports.push(await lastingPort())
  return ports
}

function answersOk(url: string, ca: Buffer, token: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { ca, headers: { authorization: `Bearer ${token}` }, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('error', () => resolve(false))
  })
}
