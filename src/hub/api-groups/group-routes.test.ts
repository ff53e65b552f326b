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
import { Refusal } from '../refusal.ts'
import { GROUPS_BURST, groupLimits, groupRoutes } from './group-routes.ts'

async function start(groupVersions: () => readonly string[]): Promise<HubWorld> {
  const clock = new ManualClock(Date.now())
  const budget = new NodeBudget(clock, groupLimits)
  return await startHub({ routes: groupRoutes({ clock, budget, groupsOf: () => ({ groupVersions }) }) })
}

function request(world: HubWorld, credential?: Credential, method = 'GET'): Promise<ClientResponse> {
  return ask(world, { method, path: HUB_PATHS.apiGroups, credential })
}

describe('the groups of the API', () => {
  it('are told to a node by its certificate, and to nobody else', async () => {
    const world = await start(() => ['example.com/v1', 'v1'])
    const credential = await joined(world, 'edge-1')
    const answer = await request(world, credential)
    expect([answer.status, JSON.parse(answer.body)]).toEqual([200, { local: ['example.com/v1', 'v1'] }])
    expect(codeOf(await request(world))).toBe('certificate-missing')
    expect(codeOf(await request(world, credential, 'POST'))).toBe('method-not-allowed')
    await world.cluster.claims.forget('edge-1')
    expect(codeOf(await request(world, credential))).toBe('certificate-revoked')
  })

  it('are not told without end', async () => {
    const world = await start(() => [])
    const credential = await joined(world, 'edge-1')
    for (let count = 0; count < GROUPS_BURST; count++) expect((await request(world, credential)).status).toBe(200)
    expect(codeOf(await request(world, credential))).toBe('too-many-requests')
    expect((await request(world, await joined(world, 'edge-2'))).status).toBe(200)
  })

  it('are refused with the reason where the hub does not know them', async () => {
    const world = await start(() => {
      throw new Refusal('hub-lacks-rights', 'the hub may not', { retryAfterSeconds: 60 })
    })
    const answer = await request(world, await joined(world, 'edge-1'))
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '60' } })
    expect(JSON.parse(answer.body)).toEqual({ code: 'hub-lacks-rights', message: 'the hub may not' })
  })
})
