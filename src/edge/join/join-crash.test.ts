import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CrashStates, DAY_MS, EdgeHub } from '../../../test/worlds/edge-hub.ts'
import { type DiskContent, FragileDisk } from '../../../test/worlds/fragile-disk.ts'
import { keyFingerprint } from '../../identity/keys.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { EdgeFiles, edgePaths } from '../identity/edge-files.ts'
import { loadJoinedIdentity } from '../identity/edge-identity.ts'
import { type JoinResult, joinHub } from './join.ts'

const tokenPath = '/t/token'
const clock = new ManualClock()
let hub: EdgeHub
let earlierHub: EdgeHub

beforeEach(async () => {
  ;[hub, earlierHub] = await Promise.all([EdgeHub.start({ clock }), EdgeHub.start({ clock })])
})
afterEach(async () => {
  await Promise.all([hub.stop(), earlierHub.stop()])
})

async function join(disk: FragileDisk, at = hub): Promise<JoinResult> {
  const token = { kind: 'file', path: tokenPath } as const
  return await joinHub({
    files: new EdgeFiles('/d', disk),
    hubs: [at.url],
    node: 'edge-1',
    token,
    clock,
    random: () => 0,
  })
}

async function withToken(content: DiskContent, at = hub): Promise<DiskContent> {
  return new Map([...content, [tokenPath, Buffer.from(await at.mint())]])
}

async function joined(at: EdgeHub): Promise<DiskContent> {
  const disk = new FragileDisk(await withToken(new Map(), at))
  await join(disk, at)
  return disk.content()
}

/** What a machine that comes up again with this disk can do: join again where the token is still there, or just start. */
async function recover(survivor: DiskContent): Promise<void> {
  const disk = new FragileDisk(survivor)
  if (survivor.has(tokenPath)) await join(disk)
  const identity = await loadJoinedIdentity(new EdgeFiles('/d', disk), clock.nowMs())
  expect(identity?.node).toBe('edge-1')
  expect(identity?.record.hubs).toEqual([hub.url])
  expect(hub.claims.get('edge-1')).toMatchObject({
    state: 'held',
    current: keyFingerprint(identity!.pair.privateKey),
  })
  const left = [...disk.content().keys()].filter((path) => path.startsWith('/d'))
  const { pair, hubCa, kubernetesCa, record } = edgePaths('/d')
  expect(left.toSorted()).toEqual([pair.certificate, pair.key, hubCa, kubernetesCa, record].toSorted())
  expect(disk.content().has(tokenPath)).toBe(false)
}

describe('a join that loses power between any two operations on the disk is completed by the next one', () => {
  it.each([
    ['of a machine that never joined', async () => new Map()],
    [
      'of a machine whose node was forgotten',
      async () => {
        const content = await joined(hub)
        await clock.advance(DAY_MS)
        hub.forget('edge-1')
        return content
      },
    ],
    ['of a machine that moves from another hub', async () => await joined(earlierHub)],
  ])('%s', async (_what, before) => {
    const start = await withToken(await before())
    const crashes = new CrashStates()
    const disk = new FragileDisk(start)
    disk.beforeOperation = () => crashes.note(disk, hub)
    await join(disk)
    crashes.note(disk, hub)
    expect(crashes.states.size).toBeGreaterThan(10)
    for (const { survivor, claims } of crashes.states.values()) {
      hub.claims = new Map(claims)
      await recover(survivor)
    }
  })
})
