/**
 * A real kube-apiserver and ours side by side, with the same callers, asked by hand: the target and the headers of a request
 * reach both as they are written here, however odd. What comes back is put in a form in which two answers can be compared.
 */
import { mkdtemp, readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ApiServer } from '../../src/apiserver/api-server.ts'
import { REPLACEABLE_CONTROLLERS } from '../../src/apiserver/controllers/replaceable.ts'
import { MemoryStore } from '../../src/apiserver/storage/memory-store.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { HealthChecks } from '../../src/telemetry/health.ts'
import { removeFolder } from '../remove-folder.ts'
import { startControlPlane } from './control-plane.ts'

/** Longer than the watches of the suites, which end themselves after a second; ends those that were talked out of it. */
const answerLimitMs = 4_000
const maxConnections = 24

export type TwinName = 'real' | 'ours'

export interface Asked {
  readonly method: string
  /** As it goes into the request line. */
  readonly target: string
  /** One of the callers, `admin`, or undefined for nobody. */
  readonly by?: string | undefined
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: object | string | undefined
  readonly type?: string
}

export interface Answered {
  readonly status: number
  readonly text: string
  readonly location: string
}

/** Who calls, by a static token. */
export interface Caller {
  readonly name: string
  readonly groups?: readonly string[]
}

export interface Twins {
  ask(twin: TwinName, asked: Asked): Promise<Answered>
  /** Of both, at once. */
  askBoth(asked: Asked): Promise<Record<TwinName, Answered>>
  /** As the administrator, and both must agree to it. */
  create(path: string, object: object): Promise<Record<TwinName, KubeObject>>
  stop(): Promise<void>
}

interface Peer {
  readonly url: URL
  readonly agent: Agent
}

export async function startTwins(callers: readonly Caller[]): Promise<Twins> {
  const lines = callers.map(({ name, groups = [] }) =>
    [tokenOf(name), name, '', ...(groups.length === 0 ? [] : [`"${groups.join()}"`])].join(),
  )
  const plane = await startControlPlane({ staticTokens: lines, checksServiceAccounts: true })
  const ours = await startOurs(await readFile(join(plane.directory, 'tokens.csv'), 'utf8'))
  const peers: Record<TwinName, Peer> = { real: peerAt(plane.server), ours: peerAt(ours.url) }
  const ask: Twins['ask'] = (twin, asked) => send(peers[twin], asked, plane.adminToken)
  const askBoth: Twins['askBoth'] = async (asked) => {
    const [real, own] = await Promise.all([ask('real', asked), ask('ours', asked)])
    return { real, ours: own }
  }
  return {
    ask,
    askBoth,
    create: async (path, object) => {
      const answers = await askBoth({ method: 'POST', target: path, by: 'admin', body: object })
      for (const [twin, { status, text }] of Object.entries(answers)) {
        if (status !== 201) throw new Error(`${twin}, ${path}: ${status} ${text}`)
      }
      const [real, own] = [answers.real, answers.ours].map(({ text }) => JSON.parse(text) as KubeObject)
      return { real: real ?? {}, ours: own ?? {} }
    },
    stop: async () => {
      for (const { agent } of Object.values(peers)) agent.destroy()
      await ours.stop()
      await plane.stop()
    },
  }
}

/** Tokens may hold no colon. */
function tokenOf(caller: string): string {
  return `token-of-${caller.replaceAll(/[^a-z0-9]/g, '-')}`
}

function peerAt(url: string): Peer {
  return {
    url: new URL(url),
    agent: new Agent({ keepAlive: true, maxSockets: maxConnections, rejectUnauthorized: false }),
  }
}

async function startOurs(csv: string): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-twin-'))
  const server = new ApiServer({
    dataDir: folder,
    address: { host: '127.0.0.1', port: 0 },
    dnsNames: [],
    ipAddresses: [],
    clock: systemClock,
    logger: pino({ level: 'silent' }),
    health: new HealthChecks(systemClock),
    registry: new Registry(),
    tokens: { csv, source: 'tokens.csv' },
    sharesStore: false,
    // No controllers run beside the real one.
    skippedControllers: REPLACEABLE_CONTROLLERS,
    openStore: () => Promise.resolve(new MemoryStore(systemClock)),
  })
  const running = await server.start(new AbortController().signal, (cause) => {
    throw cause
  })
  return {
    url: server.url,
    stop: async () => {
      await running.stop(AbortSignal.abort())
      removeFolder(folder)
    },
  }
}

function send({ url, agent }: Peer, asked: Asked, adminToken: string): Promise<Answered> {
  const { method, target, by, headers = [], body, type = 'application/json' } = asked
  const bytes = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const given = [
    ['host', url.host],
    ...(by === undefined ? [] : [['authorization', `Bearer ${by === 'admin' ? adminToken : tokenOf(by)}`]]),
    ...(headers.some(([name]) => name.toLowerCase() === 'accept') ? [] : [['accept', 'application/json']]),
    ...(bytes === undefined
      ? []
      : [
          ['content-type', type],
          ['content-length', String(bytes.length)],
        ]),
    ...headers,
  ]
  return new Promise((resolve, reject) => {
    const sent = request({ host: url.hostname, port: url.port, agent, method, path: target, headers: given.flat() })
    sent.on('response', (response) => void read(response).then(resolve, reject))
    sent.on('error', reject)
    sent.end(bytes)
  })
}

/** A watch is read until it ends or has shown what there was at first. */
async function read(response: IncomingMessage): Promise<Answered> {
  let text = ''
  const cancel = systemClock.schedule(answerLimitMs, () => response.destroy())
  try {
    for await (const piece of response) {
      text += String(piece)
      if (text.includes('"k8s.io/initial-events-end":"true"')) break
    }
  } catch (error) {
    if (!response.destroyed) throw error
  } finally {
    cancel()
  }
  response.destroy()
  return { status: response.statusCode ?? 0, text, location: response.headers.location ?? '' }
}
