import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EdgeHub } from '../../test/worlds/edge-hub.ts'
import { EdgeFiles } from '../edge/identity/edge-files.ts'
import { joinHub } from '../edge/join/join.ts'
import { ManualClock } from '../runtime/clock.ts'
import { upToken } from './up-token.ts'

const node = 'edge-1'
let dataDir: string
let clock: ManualClock
let hub: EdgeHub
let minted: number

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'causeway-up-token-'))
  clock = new ManualClock()
  hub = await EdgeHub.start({ clock })
  minted = 0
})
afterEach(async () => {
  await hub.stop()
  rmSync(dataDir, { recursive: true })
})

/** As a start of the edge: what became of it, and how many tokens there were up to then. */
async function start(): Promise<string> {
  const mint = async (): Promise<string> => {
    minted += 1
    return await hub.mint({ node })
  }
  const token = await upToken({ dataDir, hub: hub.url, node, clock, mint })
  const files = new EdgeFiles(dataDir)
  const { outcome } = await joinHub({ files, hubs: [hub.url], node, token, clock, random: () => 0.5 })
  return `${outcome}, ${minted}`
}

describe('an edge of "causeway up"', () => {
  it('gets a token once', async () => {
    expect([await start(), await start(), await start()]).toEqual([
      'joined, 1',
      'already-joined, 1',
      'already-joined, 1',
    ])
  })

  it.each([
    ['was forgotten', () => hub.forget(node)],
    ['has a damaged certificate', () => writeFileSync(join(dataDir, 'edge.crt'), 'x')],
    ['has lost its key', () => rmSync(join(dataDir, 'edge.key'))],
  ])('gets another when it %s', async (_, harm) => {
    await start()
    harm()
    expect([await start(), await start()]).toEqual(['joined, 2', 'already-joined, 2'])
  })

  it('gets another for a new cluster', async () => {
    await start()
    await hub.stop()
    hub = await EdgeHub.start({ clock })
    expect([await start(), await start()]).toEqual(['joined, 2', 'already-joined, 2'])
  })
})
