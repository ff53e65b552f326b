/**
 * A node that lives by its replica, under attack: our API server, a hub, and an edge whose wire can be severed and mended, that can
 * be started anew, and for which time can be moved on.
 */
import { mkdtempSync, readFileSync } from 'node:fs'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { StreamSink } from '../../src/apiserver/audit/stream-sink.ts'
import { loadPki, type Pki } from '../../src/apiserver/pki/pki.ts'
import { nodePairPaths } from '../../src/edge/certificates/node-pair-files.ts'
import type { ReplicaStatus } from '../../src/edge/replica/replica-status.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import type { KubeObject } from '../../src/kube/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { removeFolder } from '../remove-folder.ts'
import { resigned } from '../worlds/forged-tokens.ts'
import { LeapingClock } from '../worlds/leaping-clock.ts'
import { SeverableWire } from '../worlds/severable-wire.ts'
import { SiteWorld } from '../worlds/site-world.ts'
import { ask, bearer } from './endpoint-asking.ts'

export const NODE = 'edge-1'
export const DEFAULT = '/api/v1/namespaces/default'
const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
const pollMs = 10
const patienceMs = 30_000
/** So much at a time that nobody takes a peer for dead that had no turn to speak. */
const stepMs = 1_000

/** Who asks: a token, the node by its certificate, or nobody. */
export type Asker = { readonly token: string } | 'node' | 'nobody'

interface Wishes {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

type Answer = Awaited<ReturnType<typeof ask>>

interface Rule {
  readonly verbs: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
}

export const READ = ['get', 'list', 'watch']

export class ReplicaWorld {
  readonly site: SiteWorld
  readonly clock = new LeapingClock()
  readonly #wire = new SeverableWire()
  readonly #sessions = new Map<string, ClientHttp2Session>()
  readonly #folder: string
  readonly #audit: string[]
  #pki!: Pki

  private constructor(site: SiteWorld, folder: string, audit: string[]) {
    this.site = site
    this.#folder = folder
    this.#audit = audit
  }

  /** With an account, `honest`, that may read everything in the namespace but Secrets, and has read nothing yet. */
  static async start(): Promise<ReplicaWorld> {
    const folder = mkdtempSync(join(tmpdir(), 'causeway-replica-attack-'))
    const audit: string[] = []
    const auditLog = new StreamSink({ write: (line) => audit.push(line) })
    const site = await SiteWorld.start({ dataDir: folder, auditLog })
    const world = new ReplicaWorld(site, folder, audit)
    world.#pki = await loadPki(folder, { dnsNames: [], ipAddresses: [] }, systemClock)
    await site.join(NODE, (await site.tokens.create({ node: NODE, uses: 1 })).text)
    await world.startEdge()
    await world.create('/api/v1/nodes', { metadata: { name: NODE } })
    await world.#learnKeys()
    return world
  }

  async startEdge(isLinked = true): Promise<void> {
    await this.site.startEdge(NODE, { clock: this.clock, dial: this.#wire.dial, isLinked })
    if (isLinked) await this.#reaches('online')
  }

  async restartEdge(isLinked = false): Promise<void> {
    this.#closeSessions()
    await this.site.stopEdge(NODE)
    await this.startEdge(isLinked)
  }

  sever(): void {
    this.#wire.sever()
  }

  mend(): void {
    this.#wire.mend()
  }

  async cut(): Promise<void> {
    this.sever()
    await this.#reaches('offline')
  }

  async restore(): Promise<void> {
    this.mend()
    await this.#reaches('online')
  }

  get replica(): ReplicaStatus {
    const { endpoint } = this.site.edge(NODE).status
    if (endpoint === undefined) throw new Error('this edge has no endpoint')
    return endpoint.replica
  }

  get dataDir(): string {
    return this.site.dataDir(NODE)
  }

  /** Requests that the API server has answered, as its audit log has them. */
  audited(contains: string): readonly string[] {
    return this.#audit.filter((line) => line.includes(contains))
  }

  /** Moves the time of the edge on, with turns for everybody between the steps. */
  async pass(ms: number, isOver: () => boolean = () => false): Promise<void> {
    for (let passedMs = 0; passedMs < ms && !isOver(); passedMs += stepMs) {
      this.clock.leap(stepMs)
      await systemClock.sleep(pollMs)
    }
  }

  /** Moves it on until it is so. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    await until(what, async () => {
      if (!isSo()) await this.pass(stepMs)
      return isSo()
    })
  }

  async create(path: string, object: object): Promise<KubeObject> {
    return await this.site.admin.exchange({ method: 'POST', path }, object as KubeObject)
  }

  async delete(path: string): Promise<void> {
    await this.site.admin.exchange({ method: 'DELETE', path })
  }

  /** The token of an account in the namespace default; `bound` to a pod of this node where one is named. */
  async token(account: string, bound?: KubeObject, audiences: readonly string[] = []): Promise<string> {
    return tokenIn(await this.create(tokensOf(account), tokenRequest(bound, audiences)))
  }

  /** As a kubelet asks for one for a volume. Resolves when the answer is kept. */
  async tokenByKubelet(account: string, pod: KubeObject, audiences: readonly string[] = []): Promise<string> {
    const { tokens } = this.replica
    const body = tokenRequest(pod, audiences)
    const answer = await this.ask(tokensOf(account), 'node', { method: 'POST', body })
    expect([answer.status, answer.body]).toEqual([201, expect.any(String)])
    await until('the answer is kept', () => this.replica.tokens > tokens)
    return tokenIn(JSON.parse(answer.body))
  }

  /** An account that may do what the rules say, and its token, once the API server knows of both. */
  async account(name: string, ...rules: readonly Rule[]): Promise<{ readonly token: string }> {
    await this.create(`${DEFAULT}/serviceaccounts`, { metadata: { name } })
    const token = await this.token(name)
    await this.grant(name, ...rules)
    await this.#followed({ token }, rules)
    return { token }
  }

  async grant(name: string, ...rules: readonly Rule[]): Promise<void> {
    if (rules.length === 0) return
    const apiGroup = 'rbac.authorization.k8s.io'
    await this.create(`${rbac}/roles`, {
      metadata: { name },
      rules: rules.map((rule) => ({ apiGroups: [''], ...rule })),
    })
    const subjects = [{ kind: 'ServiceAccount', name, namespace: 'default' }]
    await this.create(`${rbac}/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup, kind: 'Role', name },
      subjects,
    })
  }

  /** Resolves when the API server itself refuses the account what its rules allowed. */
  async revoke(name: string, token: string, path: string): Promise<void> {
    await this.delete(`${rbac}/rolebindings/${name}`)
    await until('the right is gone', async () => (await this.askCloud(path, { token })) === 403)
  }

  /** A pod of this node, which may have tokens for the API server and for `vault`, and a Secret. */
  async pod(name: string, serviceAccountName: string, secretName = 'none'): Promise<KubeObject> {
    const containers = [{ name: 'main', image: 'example.com/image' }]
    const sources = [{ serviceAccountToken: { audience: 'vault', path: 'token' } }]
    const volumes = [
      { name: 'vault', projected: { sources } },
      { name: 'secret', secret: { secretName } },
    ]
    const spec = { nodeName: NODE, serviceAccountName, containers, volumes }
    return await this.create(`${DEFAULT}/pods`, { metadata: { name }, spec })
  }

  /** The same claims with the changes, signed with the cluster's own key. */
  async resigned(token: string, changes: object, header: object = {}): Promise<string> {
    return await resigned(this.#pki.serviceAccountKey, token, changes, header)
  }

  /** One request to the endpoint, and all of its answer. */
  async ask(path: string, asker: Asker, { method = 'GET', headers = {}, body }: Wishes = {}): Promise<Answer> {
    const content = body === undefined ? {} : { 'content-type': 'application/json' }
    const credential = typeof asker === 'string' ? {} : bearer(asker.token)
    const sent = { ':method': method, ':path': path, ...content, ...credential, ...headers }
    return await ask(this.#session(asker), sent, body && JSON.stringify(body))
  }

  /** The same for a watch that ends by its own timeout, which nobody waits for. */
  async askInHaste(path: string, asker: Asker, wishes?: Wishes): Promise<Answer> {
    let answer: Answer | undefined
    const asking = this.ask(path, asker, wishes).then((given) => {
      answer = given
      return given
    })
    await Promise.race([asking, systemClock.sleep(10 * pollMs)])
    await this.pass(60 * stepMs, () => answer !== undefined)
    return await asking
  }

  async status(path: string, asker: Asker, wishes?: Wishes): Promise<number> {
    return (await this.ask(path, asker, wishes)).status
  }

  /** The API server itself. */
  async askCloud(path: string, { token }: { readonly token: string }): Promise<number> {
    const client = this.site.clientAt('cloud', token)
    return await client.exchange({ method: 'GET', path }).then(
      () => 200,
      (error: { code?: number }) => error.code ?? 0,
    )
  }

  /** Reads once while there is a link, until the edge has learnt what that says about the reader. */
  async learn(path: string, asker: Asker, expected = 200): Promise<Answer> {
    const before = this.replica.verdicts
    const answer = await this.askInHaste(path, asker)
    expect([path, answer.status]).toEqual([path, expected])
    await until(`a verdict for ${path}`, () => this.replica.verdicts > before)
    return answer
  }

  async watch(path: string, asker: Asker): Promise<Watched> {
    const credential = typeof asker === 'string' ? {} : bearer(asker.token)
    const stream = this.#session(asker).request({ ':path': path, ...credential })
    return await Watched.begin(stream)
  }

  async stop(): Promise<void> {
    this.#closeSessions()
    await this.site.stop()
    removeFolder(this.#folder)
  }

  /** The keys of tokens are fetched when somebody has shown a token that is good. */
  async #learnKeys(): Promise<void> {
    await this.create(`${DEFAULT}/serviceaccounts`, { metadata: { name: 'first' } })
    const token = await this.token('first')
    const isFetched = (): boolean => this.audited('/openid/v1/jwks').some((line) => line.includes('"code":200'))
    while (!isFetched()) {
      await this.ask(`${DEFAULT}/configmaps`, { token })
      await this.pass(stepMs)
    }
  }

  async #followed(reader: { readonly token: string }, rules: readonly Rule[]): Promise<void> {
    for (const { verbs, resources, resourceNames = [''] } of rules) {
      const verb = verbs.includes('get') ? 'get' : verbs[0]
      const resourceAttributes = { namespace: 'default', verb, resource: resources[0], name: resourceNames[0] }
      const kind = 'SelfSubjectAccessReview'
      const object = { apiVersion: 'authorization.k8s.io/v1', kind, spec: { resourceAttributes } }
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
      const client = this.site.clientAt('cloud', reader.token)
      const isAllowed = async (): Promise<boolean> => {
        const review = await client.exchange({ method: 'POST', path }, object)
        return (review as unknown as { status: { allowed: boolean } }).status.allowed
      }
      await until('the right is there', isAllowed)
    }
  }

  async #reaches(state: string): Promise<void> {
    await this.until(`the edge is ${state}`, () => this.replica.reach.state === state)
  }

  #session(asker: Asker): ClientHttp2Session {
    const kind = asker === 'node' ? 'node' : 'others'
    const known = this.#sessions.get(kind)
    if (known !== undefined && !known.closed && !known.destroyed) return known
    const { client } = nodePairPaths(this.dataDir)
    const keys =
      asker === 'node' ? { cert: readFileSync(client.certificate, 'utf8'), key: readFileSync(client.key, 'utf8') } : {}
    const ca = certificatePem(this.#pki.ca.certificate)
    const session = connect(`https://127.0.0.1:${this.site.endpointPort(NODE)}`, { ca, ...keys })
    session.on('error', () => {})
    this.#sessions.set(kind, session)
    return session
  }

  #closeSessions(): void {
    for (const session of this.#sessions.values()) session.destroy()
    this.#sessions.clear()
  }
}

export function tokensOf(account: string): string {
  return `${DEFAULT}/serviceaccounts/${account}/token`
}

export function tokenRequest(bound: KubeObject | undefined, audiences: readonly string[]): object {
  const { name, uid } = bound?.metadata ?? {}
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name, uid }
  const spec = { audiences, ...(bound && { boundObjectRef }) }
  return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }
}

function tokenIn(answer: unknown): string {
  return (answer as { status: { token: string } }).status.token
}

/** Resolves when it is so, and rejects where that takes too long. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + patienceMs
  while (!(await isSo())) {
    if (systemClock.monotonicMs() > deadlineMs) throw new Error(`it did not come about: ${what}`)
    await systemClock.sleep(pollMs)
  }
}

/** A watch as its reader sees it. */
export class Watched {
  readonly events: { readonly type: string; readonly object: KubeObject }[] = []
  status = 0
  isOver = false
  #rest = ''

  static async begin(stream: ClientHttp2Stream): Promise<Watched> {
    const watched = new Watched()
    stream
      .on('error', () => {})
      .on('data', (chunk) => watched.#take(String(chunk)))
      .on('close', () => {
        watched.isOver = true
      })
      .on('response', (head) => {
        watched.status = Number(head[':status'])
      })
    await until('the watch is answered', () => watched.status > 0)
    return watched
  }

  /** What was told of objects, without bookmarks. */
  get told(): readonly string[] {
    return this.events
      .filter(({ type }) => type !== 'BOOKMARK')
      .map(({ type, object }) => `${type} ${object.metadata?.name}`)
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.events.push(JSON.parse(line) as Watched['events'][number])
  }
}
