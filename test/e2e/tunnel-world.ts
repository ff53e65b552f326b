/**
 * Edges that lead local ports through hubs to an API server, every one a process of the built command, and what a person sees
 * of them: answers on those ports, logs, and what the commands tell.
 */

import type { IncomingMessage } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net'
import { expect, vi } from 'vitest'
import { readMaterial } from '../../src/kube/client/connection.ts'
import { listen } from '../../src/network/listen.ts'
import { lastingPort } from '../lasting-port.ts'
import { type Launched, launch, run } from './harness.ts'
import { HubCluster } from './hub-cluster.ts'

/** What a client waits for an answer at most, on a machine where a dozen processes start at once. */
const answerLimitMs = 60_000
/** After so long a client that asks again and again gives one try up: a link that swallows bytes never answers it. */
const tryLimitMs = 15_000
const local = '127.0.0.1'

export interface TunnelEdge {
  readonly process: Launched
  readonly dataDir: string
  /** Where the API server can be reached. */
  readonly port: number
}

export interface LinkStatus {
  readonly hub: string
  readonly state: string
  readonly carrier?: string
  readonly rttMs?: number
  readonly streams: number
  readonly lastError?: string
}

export interface EdgeWish {
  readonly hubs: readonly string[]
  readonly flags?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Nothing but one listener of this folder decides which way an edge takes. */
const noProxy = { HTTPS_PROXY: '', https_proxy: '', NO_PROXY: '', no_proxy: '', ALL_PROXY: '', all_proxy: '' }

export class TunnelWorld {
  readonly cluster: HubCluster
  readonly #credentials: RequestOptions

  private constructor(cluster: HubCluster, credentials: RequestOptions) {
    this.cluster = cluster
    this.#credentials = credentials
  }

  static async start(): Promise<TunnelWorld> {
    const cluster = await HubCluster.start()
    const { ca, clientCertificate } = cluster.client.connection.tls
    if (ca === undefined || clientCertificate === undefined) throw new Error('the admin kubeconfig is not complete')
    const { certificate, key } = clientCertificate
    const [caPem, cert, keyPem] = await Promise.all(
      [ca, certificate, key].map(async (material) => await readMaterial(material, 'the admin kubeconfig')),
    )
    return new TunnelWorld(cluster, { ca: caPem, cert, key: keyPem, agent: false })
  }

  /** Joins and runs. */
  async edge(name: string, { hubs, flags = [], environment = {} }: EdgeWish): Promise<TunnelEdge> {
    const token = await this.cluster.token(`token-${name}`, { node: name })
    const port = await lastingPort()
    const own = ['--data-dir', name, '--health-address', `${local}:0`, '--hub', hubs.join(), '--token-file', token]
    const process = this.#launch([...own, ...forward(port), ...flags], environment)
    await process.shows(/^ready .*\n/)
    return { process, dataDir: name, port }
  }

  /** Runs with the certificates of another that has joined, as one whose hub is known under another address does. */
  async edgeWithCertificatesOf(joined: string, dataDir: string, wish: EdgeWish): Promise<TunnelEdge> {
    const { hubs, flags = [], environment = {} } = wish
    const port = await lastingPort()
    const files = [
      '--ca-cert',
      `${joined}/ca.crt`,
      '--edge-cert',
      `${joined}/edge.crt`,
      '--edge-key',
      `${joined}/edge.key`,
    ]
    const own = ['--data-dir', dataDir, '--health-address', `${local}:0`, '--hub', hubs.join(), ...files]
    const process = this.#launch([...own, ...forward(port), ...flags], environment)
    await process.shows(/^ready .*\n/)
    return { process, dataDir, port }
  }

  #launch(args: readonly string[], environment: Readonly<Record<string, string>>): Launched {
    return launch(['edge', ...args], {
      workingDir: this.cluster.folder,
      environment: { ...noProxy, ...environment },
    })
  }

  /** The body of an answer of the API server, asked on a port of this machine over a connection of its own. */
  async get(port: number, limitMs = answerLimitMs): Promise<{ status: number | undefined; body: string }> {
    const response = await this.open(port, '/api/v1/namespaces/default', limitMs)
    let body = ''
    response.setEncoding('utf8')
    for await (const text of response) body += text as string
    return { status: response.statusCode, body }
  }

  /** Which namespace the API server says it has; a sign of life from the far end. */
  async ask(port: number, limitMs?: number): Promise<string> {
    const { body } = await this.get(port, limitMs)
    return (JSON.parse(body) as { metadata: { name: string } }).metadata.name
  }

  /** Asks until there is an answer. */
  async works(port: number, patience: { readonly timeout: number; readonly interval: number }): Promise<void> {
    await vi.waitFor(async () => expect(await this.ask(port, tryLimitMs)).toBe('default'), patience)
  }

  async open(port: number, path: string, timeoutMs?: number): Promise<IncomingMessage> {
    return await new Promise((resolve, reject) => {
      const signal = timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(timeoutMs) }
      request({ ...this.#credentials, ...signal, host: local, port, path }, resolve)
        .on('error', reject)
        .end()
    })
  }

  /** A watch on the ConfigMaps of a namespace, which lasts until somebody ends it. */
  async watch(port: number): Promise<Watching> {
    return new Watching(await this.open(port, '/api/v1/namespaces/default/configmaps?watch=1'))
  }

  async links(dataDir: string): Promise<LinkStatus[]> {
    const { stdout } = await run(['status', '--data-dir', dataDir, '-o', 'json'], { workingDir: this.cluster.folder })
    return (JSON.parse(stdout) as { edge: { network: { links: LinkStatus[] } } }).edge.network.links
  }

  /** What a running hub knows of a node. */
  async nodeAt(hubDataDir: string, node: string): Promise<Record<string, unknown> | undefined> {
    const args = ['nodes', '--data-dir', hubDataDir, '-o', 'json']
    const { stdout } = await run(args, { workingDir: this.cluster.folder })
    return (JSON.parse(stdout) as Record<string, unknown>[]).find((entry) => entry['node'] === node)
  }
}

/** A stream that lasts, and what came over it so far. */
export class Watching {
  readonly #response: IncomingMessage
  #text = ''
  #problem: string | undefined

  constructor(response: IncomingMessage) {
    this.#response = response
    response.setEncoding('utf8')
    response.on('data', (text: string) => {
      this.#text += text
    })
    response.on('error', (error: Error) => {
      this.#problem = error.message
    })
    response.on('end', () => {
      this.#problem ??= 'it has ended'
    })
  }

  /** Names of the objects that were added. */
  get added(): string[] {
    const lines = this.#text.split('\n').slice(0, -1)
    const events = lines.map((line) => JSON.parse(line) as { type: string; object: { metadata: { name: string } } })
    return events.filter(({ type }) => type === 'ADDED').map(({ object }) => object.metadata.name)
  }

  get problem(): string | undefined {
    return this.#problem
  }

  end(): void {
    this.#response.destroy()
  }
}

/** A wire that can be cut without either end being told: bytes just stop. Connections made later are not affected. */
export class Wire {
  readonly #server: Server
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #port = 0

  private constructor(toPort: number) {
    this.#server = createServer({ allowHalfOpen: true }, (near) => {
      const far = connectTcp({ host: local, port: toPort, allowHalfOpen: true })
      const pair = [near, far] as const
      this.#pairs.add(pair)
      for (const [from, to] of [[near, far] as const, [far, near] as const]) {
        from.pipe(to)
        from.on('error', () => to.destroy()).once('close', () => this.#pairs.delete(pair))
      }
    })
  }

  static async to(url: string): Promise<Wire> {
    const wire = new Wire(Number(new URL(url).port))
    wire.#port = (await listen(wire.#server, { host: local, port: 0 })).port
    return wire
  }

  get url(): string {
    return `https://${local}:${this.#port}`
  }

  /** Nothing passes any more over what is connected now. */
  blackHole(): number {
    for (const [near, far] of this.#pairs) {
      near.unpipe(far).pause()
      far.unpipe(near).pause()
    }
    return this.#pairs.size
  }

  stop(): void {
    this.#server.close()
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
  }
}

/** Lines with that message. */
export function linesOf({ log }: Launched, message: string): Launched['log'] {
  return log.filter(({ msg }) => msg === message)
}

function forward(port: number): string[] {
  return ['--target', `kube-apiserver:6443:${port}`, '--bind-address', local]
}
