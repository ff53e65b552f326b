import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OwnApiServer, startOwnApiServer } from '../../../test/worlds/own-api-server.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { nodes } from '../../kube/client/kinds.ts'
import { systemClock } from '../../runtime/clock.ts'
import { NodeIndex } from './node-index.ts'

let server: OwnApiServer
beforeAll(async () => {
  server = await startOwnApiServer()
})
afterAll(async () => {
  await server.stop()
})

function indexFor(client: KubeClient): NodeIndex {
  const logger = pino({ level: 'silent' })
  return new NodeIndex({ client, clock: systemClock, logger, strategies: ['destHost', 'default'] })
}

async function register(name: string, address: string): Promise<void> {
  const client = server.client().resource(nodes)
  const made = await client.create({ metadata: { name } })
  const status = { addresses: [{ type: 'InternalIP', address }] }
  await client.subresource(name, 'status').update({ ...made, status })
}

const never = new AbortController().signal

describe('the index of Nodes', () => {
  it('says nothing about any destination before it knows all Nodes, and follows them from then on', async () => {
    await register('edge-1', '10.0.0.1')
    const index = indexFor(server.client())
    const chosen = (text: string): unknown => index.choose({ kind: 'address', text })
    expect(chosen('10.96.0.1')).toMatchObject({ kind: 'none', reason: 'unknown' })

    const running = await index.start(never)
    expect(chosen('10.0.0.1')).toEqual({ kind: 'node', node: 'edge-1' })
    expect(chosen('10.96.0.1')).toMatchObject({ kind: 'any' })

    await register('edge-2', '10.0.0.1')
    await expect.poll(() => chosen('10.0.0.1')).toMatchObject({ reason: 'contested' })
    expect(index.contestedCount).toBe(1)

    await server.client().resource(nodes).delete('edge-1')
    await expect.poll(() => chosen('10.0.0.1')).toEqual({ kind: 'node', node: 'edge-2' })
    expect([index.node('edge-1'), index.node('edge-2')?.addresses]).toEqual([undefined, ['10.0.0.1']])
    await running.stop(never)
  })

  it('does not start where the hub may not know them', async () => {
    await expect(indexFor(server.clientOf('nobody')).start(never)).rejects.toThrow(
      /^cannot watch the Nodes of the cluster: .*forbidden.*give the hub its rights/,
    )
  })

  it('gives up starting when told so', async () => {
    const given = new AbortController()
    const starting = indexFor(server.client()).start(given.signal)
    given.abort(new Error('stop'))
    await expect(starting).rejects.toThrow('stop')
  })
})
