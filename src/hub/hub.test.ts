import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { servedCluster } from '../../test/worlds/served-cluster.ts'
import type { KubeClient } from '../kube/client/client.ts'
import { ListenError } from '../network/listen.ts'
import { systemClock } from '../runtime/clock.ts'
import type { HubOptions } from './compose.ts'
import { Hub } from './hub.ts'

/** Knows where its server is, and fails the test if it is asked for anything else. */
const untouched = new Proxy({ connection: { server: 'https://127.0.0.1:6443' } } as unknown as KubeClient, {
  get(target, name) {
    if (name === 'connection') return target.connection
    throw new Error(`the cluster was asked for ${String(name)}`)
  },
})

async function takenPort(): Promise<{ host: string; port: number }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

const free = { host: '127.0.0.1', port: 0 }

describe('Hub', () => {
  it.each<[string, (taken: typeof free) => Pick<HubOptions, 'listen' | 'joinListen'>]>([
    ['port', (taken) => ({ listen: taken })],
    ['port for joining', (taken) => ({ listen: free, joinListen: taken })],
  ])('touches no cluster if its %s is taken', async (_which, addresses) => {
    const hub = new Hub({
      clusters: [servedCluster(untouched)],
      clock: systemClock,
      logger: pino({ level: 'silent' }),
      registry: new Registry(),
      certificateLifeMs: 3_600_000,
      renewalGraceMs: 3_600_000,
      ...addresses(await takenPort()),
    })
    const started = hub.start(new AbortController().signal, () => {})
    await expect(started).rejects.toThrow(ListenError)
    expect(hub.clusterHealth('default')).toEqual({ ok: false, reason: 'not started' })
  })
})
