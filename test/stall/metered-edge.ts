/**
 * The built edge as a process that is measured from the inside, with a cloud in this process: our API server with objects that
 * were there before it, and a hub that can go.
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { Agent, request } from 'undici'
import { expect, vi } from 'vitest'
import { MemoryStore } from '../../src/apiserver/storage/memory-store.ts'
import { TokenAdministration } from '../../src/hub/cluster/token-administration.ts'
import { Hub } from '../../src/hub/hub.ts'
import { type Material, readMaterial } from '../../src/kube/client/connection.ts'
import { type KubeClient, serviceAccounts, tokenRequests } from '../../src/kube/index.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { USUAL_HUB_NAMESPACE } from '../../src/protocol/names.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { patience, run } from '../e2e/harness.ts'
import { lastingPort } from '../lasting-port.ts'
import { removeFolder } from '../remove-folder.ts'
import { type OwnApiServer, startOwnApiServer } from '../worlds/own-api-server.ts'
import { servedCluster } from '../worlds/served-cluster.ts'
import { MeteredProcess } from './metered-process.ts'
import { type Seed, seedInto } from './seed-store.ts'

const local = '127.0.0.1'
const node = 'edge-1'
const account = 'reader'
const hourMs = 3_600_000
const neverEnding = new AbortController().signal
const group = 'rbac.authorization.k8s.io'

function raise(cause: unknown): never {
  throw cause
}

export interface EdgeAnswer {
  readonly status: number
  readonly warning: string
  readonly body: Buffer
}

export class MeteredEdge extends MeteredProcess {
  readonly #folder = mkdtempSync(join(tmpdir(), 'causeway-stall-edge-'))
  readonly #leaving = new AbortController()
  #api!: OwnApiServer
  #hub!: RunningPart
  #agent!: Agent
  #url = ''
  #authorization = ''

  /** Resolves when it has a link and serves; `seeds` are what the API server has. */
  async open(seeds: Iterable<Seed>): Promise<void> {
    const store = new MemoryStore(systemClock)
    await seedInto(store, seeds)
    this.#api = await startOwnApiServer([], { openStore: () => Promise.resolve(store) })
    const client = this.#api.client()
    const hub = new Hub({
      clusters: [servedCluster(client, { kubernetesCertificateLifeMs: hourMs })],
      clock: systemClock,
      logger: pino({ level: 'silent' }),
      registry: new Registry(),
      listen: { host: local, port: 0 },
      certificateLifeMs: hourMs,
      renewalGraceMs: hourMs,
    })
    this.#hub = await hub.start(neverEnding, raise)
    const port = await lastingPort()
    await this.#startEdge(client, hub.url, port)
    this.#url = `https://${local}:${port}`
    this.#authorization = `Bearer ${await this.#readerToken(client)}`
    const ca = await readMaterial(this.#api.connection.tls.ca as Material, 'the CA')
    this.#agent = new Agent({ connect: { ca }, headersTimeout: 120_000, bodyTimeout: 120_000 })
    // Its endpoint has to have a certificate first.
    await vi.waitFor(async () => expect((await this.ask('/version', 'application/json')).status).toBe(200), patience)
  }

  async ask(path: string, accept: string): Promise<EdgeAnswer> {
    const { statusCode: status, headers, body } = await this.#send(path, accept)
    return { status, warning: String(headers['warning'] ?? ''), body: Buffer.from(await body.arrayBuffer()) }
  }

  /** Reads what comes, for as long as this edge lives; resolves with how it begins. */
  async follow(path: string, accept: string): Promise<number> {
    const { statusCode, body } = await this.#send(path, accept)
    body.on('error', () => {}).resume()
    return statusCode
  }

  /** It fetches the keys of the API server once somebody has read, by which readers are known when nobody can be asked. */
  async untilReadersAreKnown(): Promise<void> {
    await vi.waitFor(async () => expect(await this.#signingKeys()).toBeGreaterThan(0), patience)
  }

  /** From here on nobody leads it to its API server. */
  async cutOff(): Promise<void> {
    await this.#hub.stop(AbortSignal.abort())
  }

  override async stop(): Promise<void> {
    this.#leaving.abort()
    await this.#agent.destroy()
    await super.stop()
    await this.cutOff()
    await this.#api.stop()
    removeFolder(this.#folder)
  }

  async #send(path: string, accept: string) {
    const headers = { authorization: this.#authorization, accept }
    const { signal } = this.#leaving
    return await request(`${this.#url}${path}`, { dispatcher: this.#agent, headers, signal })
  }

  async #signingKeys(): Promise<number> {
    const flags = ['--data-dir', join(this.#folder, 'data'), '-o', 'json']
    const { stdout } = await run(['status', ...flags], { workingDir: this.#folder })
    const { edge } = JSON.parse(stdout) as { edge: { endpoint?: { replica: { signingKeys: number } } } }
    return edge.endpoint?.replica.signingKeys ?? 0
  }

  async #startEdge(client: KubeClient, hub: string, port: number): Promise<void> {
    const tokens = new TokenAdministration({ client, namespace: USUAL_HUB_NAMESPACE, clock: systemClock })
    const { text } = await tokens.create({ node, lifeMs: hourMs })
    const token = join(this.#folder, 'token')
    writeFileSync(token, text, { mode: 0o600 })
    const flags = ['--data-dir', 'data', '--health-address', `${local}:0`, '--hub', hub, '--node-name', node]
    await this.start(['edge', ...flags, '--token-file', token], {
      folder: this.#folder,
      environment: { CAUSEWAY_EDGE_ENDPOINT_PORT: String(port) },
    })
  }

  async #readerToken(client: KubeClient): Promise<string> {
    const accounts = client.resource(serviceAccounts).in('default')
    await accounts.create({ metadata: { name: account } })
    const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'view' }
    const subjects = [{ kind: 'ServiceAccount', name: account, namespace: 'default' }]
    await client.exchange(
      { method: 'POST', path: `/apis/${group}/v1/clusterrolebindings` },
      { kind: 'ClusterRoleBinding', apiVersion: `${group}/v1`, metadata: { name: account }, roleRef, subjects },
    )
    const { status } = await accounts.subresource(account, tokenRequests).create({ spec: { audiences: [] } })
    return status?.token ?? ''
  }
}
