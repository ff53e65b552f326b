/**
 * A cluster with hubs and edges, every one a process of the built command, in one folder. What is started here ends with
 * `endAll` of the harness.
 */
import { execFile } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { TokenAdministration } from '../../src/hub/cluster/token-administration.ts'
import { configMaps, KubeClient, loadKubeconfig, namespaces, secrets } from '../../src/kube/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { lastingPort } from '../lasting-port.ts'
import { type Launched, launch, makeWorkingDir, run } from './harness.ts'

const exec = promisify(execFile)
const anyPort = '127.0.0.1:0'
const namespace = 'causeway-system'

type TokenWish = Parameters<TokenAdministration['create']>[0]

/** What a client presents, in the words of `node:tls`. */
export interface Credential {
  readonly cert: string
  readonly key: string
}

export interface RunningHub {
  readonly process: Launched
  readonly url: string
}

export interface Kubeconfigs {
  readonly admin: string
  readonly hub: string
}

export class HubCluster {
  readonly folder: string
  readonly client: KubeClient
  readonly #kubeconfigs: Kubeconfigs
  readonly #apiServer: Launched | undefined

  private constructor(folder: string, client: KubeClient, kubeconfigs: Kubeconfigs, apiServer?: Launched) {
    this.folder = folder
    this.client = client
    this.#kubeconfigs = kubeconfigs
    this.#apiServer = apiServer
  }

  /** With our own API server, where hubs are administrators. */
  static async start(): Promise<HubCluster> {
    const workingDir = makeWorkingDir()
    // Nobody else answers there once it is killed.
    const port = `${await lastingPort()}`
    const flags = ['--data-dir', 'api', '--secure-port', port, '--health-address', anyPort, '--storage', 'memory']
    const server = launch(['apiserver', ...flags], { workingDir })
    await server.shows(/^ready [\s\S]*admin\.kubeconfig\n/)
    const kubeconfig = join(workingDir, 'api/admin.kubeconfig')
    return await HubCluster.at({ admin: kubeconfig, hub: kubeconfig }, workingDir, server)
  }

  /** With an API server that runs already. */
  static async at(kubeconfigs: Kubeconfigs, folder = makeWorkingDir(), server?: Launched): Promise<HubCluster> {
    const client = new KubeClient(await loadKubeconfig({ file: kubeconfigs.admin }))
    return new HubCluster(folder, client, kubeconfigs, server)
  }

  /** Of a cluster with our own, without a word of goodbye. */
  async endApiServer(): Promise<void> {
    this.#apiServer?.kill('SIGKILL')
    await this.#apiServer?.exited
  }

  async close(): Promise<void> {
    await this.client.close()
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  write(name: string, text: string): string {
    writeFileSync(this.path(name), text)
    return name
  }

  launchHub(dataDir: string, ...flags: string[]): Launched {
    const own = ['--data-dir', dataDir, '--listen', anyPort, '--health-address', anyPort]
    return launch(['hub', '--kubeconfig', this.#kubeconfigs.hub, ...own, ...flags], { workingDir: this.folder })
  }

  /** A later flag wins over an earlier one, such as `--listen`. */
  async hub(dataDir: string, ...flags: string[]): Promise<RunningHub> {
    const process = this.launchHub(dataDir, ...flags)
    const [, url = ''] = await process.shows(/^ready .* on (https:\/\/\S+)\n/)
    return { process, url }
  }

  /** For hubs that are stopped and started again, or whose port nobody else must have once they are gone. */
  async lastingAddress(): Promise<string[]> {
    return ['--listen', `127.0.0.1:${await lastingPort()}`]
  }

  launchEdge(dataDir: string, ...flags: string[]): Launched {
    const own = ['--data-dir', dataDir, '--health-address', anyPort]
    return launch(['edge', ...own, ...flags], { workingDir: this.folder })
  }

  async edge(dataDir: string, ...flags: string[]): Promise<Launched> {
    const process = this.launchEdge(dataDir, ...flags)
    await process.shows(/^ready .*\n/)
    return process
  }

  /** A command of an administrator, to its end. */
  async admin(...args: string[]) {
    return await run([...args, '--kubeconfig', this.#kubeconfigs.admin], { workingDir: this.folder })
  }

  /** Makes a token as the command would, keeps it in a file and returns the name of that. */
  async token(name: string, wish: TokenWish = {}): Promise<string> {
    const tokens = new TokenAdministration({ client: this.client, namespace, clock: systemClock })
    return this.write(name, `${(await tokens.create(wish)).text}\n`)
  }

  /** Who holds which name, by the records in the cluster. */
  async claims(): Promise<Record<string, string>[]> {
    const labelSelector = 'causeway.io/claim'
    const { items } = await this.client.resource(configMaps).in(namespace).list({ labelSelector })
    return items.map(({ data }) => data ?? {})
  }

  async join(dataDir: string, hub: string, tokenFile: string, flags: readonly string[] = [], input?: string) {
    const stdin = input === undefined ? undefined : openSync(this.path(input), 'r')
    try {
      return await run(['edge', 'join', '--hub', hub, '--token-file', tokenFile, '--data-dir', dataDir, ...flags], {
        workingDir: this.folder,
        ...(stdin === undefined ? {} : { stdin }),
      })
    } finally {
      if (stdin !== undefined) closeSync(stdin)
    }
  }

  credential(dataDir: string): Credential {
    return { cert: this.text(`${dataDir}/edge.crt`), key: this.text(`${dataDir}/edge.key`) }
  }

  text(name: string): string {
    return readFileSync(this.path(name), 'utf8')
  }

  has(name: string): boolean {
    return existsSync(this.path(name))
  }

  async openssl(command: string): Promise<string> {
    return (await exec('openssl', command.split(' '), { cwd: this.folder })).stdout
  }

  /** Writes the CA of the hubs, which only a test should do, to `NAME.crt` and `NAME.key`. */
  async exportCa(name: string): Promise<void> {
    const { data = {} } = await this.client.resource(secrets).in(namespace).get('causeway-ca')
    const field = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString()
    this.write(`${name}.crt`, field('tls.crt'))
    this.write(`${name}.key`, field('tls.key'))
  }

  /** Everything that hubs have written, by name and version; also whether their namespace is there. */
  async written(): Promise<string[]> {
    const of = async (kind: typeof secrets | typeof configMaps): Promise<string[]> =>
      (await this.client.resource(kind).in(namespace).list()).items.map(
        ({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`,
      )
    const all = (await this.client.resource(namespaces).list()).items.map(({ metadata }) => metadata?.name ?? '')
    const ours = all.filter((name) => name === namespace)
    return [...ours, ...(await of(secrets)), ...(await of(configMaps))].filter((name) => !name.startsWith('kube-root'))
  }
}

/** Asks a hub, with a certificate if one is given; `ok`, or the code of its refusal. */
export function ask(hub: string, path: string, credential?: Credential): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(hub + path, { ...credential, agent: false, rejectUnauthorized: false }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.on('end', () =>
        resolve(response.statusCode === 200 ? 'ok' : (JSON.parse(body) as { code: string }).code),
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}
