import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import {
  ask,
  type ClientResponse,
  type Credential,
  codeOf,
  type HubWorld,
  joined,
  startHub,
} from '../../../test/worlds/hub-world.ts'
import { HUB_PATHS } from '../../protocol/requests.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { NodeBudget } from '../port/node-budget.ts'
import { WorkGate } from '../port/overload.ts'
import { Refusal } from '../refusal.ts'
import type { IssuedToken } from './kube-proxy-account.ts'
import { TOKEN_BURST, tokenLimits, tokenRoutes } from './token-routes.ts'

const issued: IssuedToken = { token: 'header.payload.signature', expires: '2026-01-02T00:00:00Z' }

interface World extends HubWorld {
  readonly audited: Record<string, unknown>[]
}

async function start(issue: (world: () => World) => Promise<IssuedToken> = async () => issued): Promise<World> {
  const audited: Record<string, unknown>[] = []
  const clock = new ManualClock(Date.now())
  const routes = tokenRoutes({
    clock,
    budget: new NodeBudget(clock, tokenLimits),
    gate: new WorkGate(),
    audit: pino({}, { write: (line: string) => void audited.push(JSON.parse(line) as Record<string, unknown>) }),
    kubeProxyOf: () => ({ issue: () => issue(() => world) }),
  })
  const world: World = { ...(await startHub({ routes })), audited }
  return world
}

function request(world: World, credential?: Credential, method = 'POST'): Promise<ClientResponse> {
  return ask(world, { method, path: HUB_PATHS.kubeProxyToken, credential })
}

describe('tokens for the kube-proxy of a node', () => {
  it('are handed to a node by its certificate, with a line that does not have the token', async () => {
    const world = await start()
    const answer = await request(world, await joined(world, 'edge-1'))
    expect(JSON.parse(answer.body)).toEqual(issued)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(world.audited).toMatchObject([
      { event: 'kube-proxy-token', node: 'edge-1', result: 'ok', expires: issued.expires },
    ])
    expect(JSON.stringify([world.audited, world.log])).not.toContain(issued.token)
  })

  it('are refused to whoever is no node', async () => {
    const world = await start(() => Promise.reject(new Error('nobody may come this far')))
    expect(codeOf(await request(world))).toBe('certificate-missing')
    const forgotten = await joined(world, 'edge-1')
    await world.cluster.claims.forget('edge-1')
    expect(codeOf(await request(world, forgotten))).toBe('certificate-revoked')
    expect(codeOf(await request(world, undefined, 'GET'))).toBe('method-not-allowed')
  })

  it('are kept back from a node that is forgotten while one is made', async () => {
    const world = await start(async (here) => {
      await here().cluster.claims.forget('edge-1')
      return issued
    })
    const answer = await request(world, await joined(world, 'edge-1'))
    expect(codeOf(answer)).toBe('certificate-revoked')
    expect(answer.body).not.toContain(issued.token)
    expect(world.audited).toMatchObject([{ node: 'edge-1', result: 'certificate-revoked' }])
  })

  it('are not made for a node that asks without end', async () => {
    let made = 0
    const world = await start(async () => {
      made++
      return issued
    })
    const credential = await joined(world, 'edge-1')
    for (let count = 0; count < TOKEN_BURST; count++) await request(world, credential)
    const answer = await request(world, credential)
    expect(codeOf(answer)).toBe('too-many-requests')
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect(made).toBe(TOKEN_BURST)
    expect(codeOf(await request(world, await joined(world, 'edge-2')))).toBe('ok')
  })

  it('carry the reason to the node where the hub may not', async () => {
    const world = await start(() =>
      Promise.reject(new Refusal('hub-lacks-rights', 'the hub may not', { retryAfterSeconds: 60 })),
    )
    const answer = await request(world, await joined(world, 'edge-1'))
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '60' } })
    expect(JSON.parse(answer.body)).toEqual({ code: 'hub-lacks-rights', message: 'the hub may not' })
    expect(world.audited).toMatchObject([{ node: 'edge-1', result: 'hub-lacks-rights' }])
  })
})
