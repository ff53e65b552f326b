import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../test/remove-folder.ts'
import { EdgeHub } from '../../test/worlds/edge-hub.ts'
import type { RunningPart } from '../process/lifecycle.ts'
import { ManualClock } from '../runtime/clock.ts'
import { Edge, type EdgeOptions } from './edge.ts'
import { EdgeFiles } from './identity/edge-files.ts'
import { joinHub } from './join/join.ts'

let clock: ManualClock
let hub: EdgeHub
let dataDir: string
let lines: string[]
let running: RunningPart | undefined

beforeEach(async () => {
  clock = new ManualClock(Date.UTC(2026, 0, 1))
  hub = await EdgeHub.start({ clock })
  dataDir = mkdtempSync(join(tmpdir(), 'edge-'))
  lines = []
  const token = { kind: 'text', text: await hub.mint() } as const
  await joinHub({ files: new EdgeFiles(dataDir), hubs: [hub.url], node: 'edge-1', token, clock, random: () => 0.5 })
})
afterEach(async () => {
  await running?.stop(AbortSignal.abort())
  running = undefined
  await hub.stop()
  removeFolder(dataDir)
})

async function start(options: Partial<EdgeOptions> = {}): Promise<Edge> {
  const edge = new Edge({
    dataDir,
    clock,
    logger: pino({}, { write: (line: string) => void lines.push(line) }),
    registry: new Registry(),
    hubs: [],
    network: { destinationRules: [], forwards: [], carriers: 'tls', proxy: undefined },
    ...options,
  })
  running = await edge.start(new AbortController().signal, (cause) => {
    throw cause
  })
  return edge
}

describe('an edge that has joined', () => {
  it('goes by what it remembers if it is told nothing', async () => {
    const edge = await start()
    expect(edge.status).toMatchObject({ node: 'edge-1', hubs: [hub.url], identity: { ok: true } })
    expect(lines.join('')).not.toContain('not safe')
  })

  it('does not take another name, and says what can be done', async () => {
    await expect(start({ node: 'edge-2' })).rejects.toThrow(
      `${dataDir} holds the identity of node edge-1, not of edge-2: a node keeps its name`,
    )
    expect((await start({ node: 'edge-1' })).status.node).toBe('edge-1')
  })

  it('uses other addresses that it is given', async () => {
    const moved = hub.url.replace('127.0.0.1', 'localhost')
    expect((await start({ hubs: [moved] })).status.hubs).toEqual([moved])
    const files = new EdgeFiles(dataDir)
    while ((await files.readRecord())?.hubs[0] !== moved) await new Promise(setImmediate)
  })

  it('warns of a key that others may read', async () => {
    chmodSync(join(dataDir, 'edge.key'), 0o644)
    await start()
    expect(lines.join('')).toMatch(/edge\.key has the mode 0644/)
  })
})
