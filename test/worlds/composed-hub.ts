/**
 * The hub as it runs, before our own API server, both in this process: nothing between a client's TLS connection and the
 * cluster's records is replaced.
 */
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ClaimStore } from '../../src/hub/claims/claim-store.ts'
import { TokenAdministration } from '../../src/hub/cluster/token-administration.ts'
import { composeHub } from '../../src/hub/compose.ts'
import { readJoinToken } from '../../src/identity/join-token.ts'
import { startInOrder } from '../../src/process/part-group.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { type HubAddress, SERVER_NAME } from './hub-world.ts'
import { type OwnApiServer, startOwnApiServer } from './own-api-server.ts'
import { servedCluster } from './served-cluster.ts'

const namespace = 'causeway-system'
const hourMs = 3_600_000
const logger = pino({ level: 'silent' })

export interface ComposedHubs {
  readonly api: OwnApiServer
  /** All of them on one cluster. */
  readonly hubs: readonly HubAddress[]
  readonly tokens: TokenAdministration
  readonly claims: ClaimStore
  mint(wish?: Parameters<TokenAdministration['create']>[0]): Promise<{ readonly id: string; readonly jwt: string }>
  stop(): Promise<void>
}

export async function startComposedHubs(count: number): Promise<ComposedHubs> {
  const api = await startOwnApiServer([])
  const client = api.client()
  const hubs = await Promise.all(Array.from({ length: count }, () => startHub(api)))
  const tokens = new TokenAdministration({ client, namespace, clock: systemClock })
  return {
    api,
    hubs,
    tokens,
    claims: new ClaimStore({ client, namespace, clock: systemClock, random: systemRandom, logger }),
    mint: async (wish = {}) => {
      const { id, text } = await tokens.create(wish)
      return { id, jwt: readJoinToken(text).jwt }
    },
    stop: async () => {
      await Promise.all(hubs.map((hub) => hub.stop()))
      await api.stop()
    },
  }
}

interface RunningHub extends HubAddress {
  stop(): Promise<void>
}

async function startHub(api: OwnApiServer): Promise<RunningHub> {
  const cluster = servedCluster(api.client(), {
    addresses: [SERVER_NAME, '127.0.0.1'],
    kubernetesCertificateLifeMs: hourMs,
  })
  const { parts, listener, clusters } = await composeHub({
    clusters: [cluster],
    clock: systemClock,
    logger,
    registry: new Registry(),
    listen: { host: '127.0.0.1', port: 0 },
    certificateLifeMs: hourMs,
    renewalGraceMs: hourMs,
  })
  const running = await startInOrder(parts, new AbortController().signal, (cause) => {
    throw cause
  })
  const [composed] = clusters
  if (composed === undefined) throw new Error('the hub serves no cluster')
  return {
    port: listener.boundAddress.port,
    cluster: { ca: composed.cluster.authority().signing },
    stop: () => running.stop(AbortSignal.abort()),
  }
}
