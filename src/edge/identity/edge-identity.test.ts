import { mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import { DAY_MS, EdgeHub } from '../../../test/worlds/edge-hub.ts'
import { type DiskContent, FragileDisk } from '../../../test/worlds/fragile-disk.ts'
import { generateKeys } from '../../identity/keys.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { joinHub } from '../join/join.ts'
import { EdgeFiles, edgePaths } from './edge-files.ts'
import { type JoinedIdentity, loadJoinedIdentity } from './edge-identity.ts'

const clock = new ManualClock()
const paths = edgePaths('/d')
let hub: EdgeHub
let otherHub: EdgeHub
let whole: DiskContent
let disk: FragileDisk

beforeAll(async () => {
  ;[hub, otherHub] = await Promise.all([EdgeHub.start({ clock }), EdgeHub.start({ clock })])
  const joined = new FragileDisk()
  await joinOn(new EdgeFiles('/d', joined))
  whole = joined.content()
})
beforeEach(() => {
  disk = new FragileDisk(whole)
})
afterAll(async () => {
  await Promise.all([hub.stop(), otherHub.stop()])
})

async function joinOn(files: EdgeFiles): Promise<void> {
  const token = { kind: 'text', text: await hub.mint({ node: 'edge-1' }) } as const
  await joinHub({ files, hubs: [hub.url], token, clock, random: () => 0.5 })
}

async function load(change: Record<string, string | undefined> = {}): Promise<JoinedIdentity | undefined> {
  const content = new Map(disk.content())
  for (const [path, text] of Object.entries(change)) {
    if (text === undefined) content.delete(path)
    else content.set(path, Buffer.from(text))
  }
  disk = new FragileDisk(content)
  return await loadJoinedIdentity(new EdgeFiles('/d', disk), clock.nowMs())
}

describe('the identity in a data folder', () => {
  it('is there after a join, also on a real disk', async () => {
    expect(await load()).toMatchObject({ node: 'edge-1', record: { node: 'edge-1' } })
    const folder = mkdtempSync(join(tmpdir(), 'causeway-edge-'))
    try {
      const files = new EdgeFiles(folder)
      await joinOn(files)
      expect(await loadJoinedIdentity(files, clock.nowMs())).toMatchObject({ node: 'edge-1' })
      expect(statSync(files.paths.pair.key).mode & 0o777).toBe(0o600)
      expect(statSync(files.paths.hubCa).mode & 0o777).toBe(0o644)
    } finally {
      removeFolder(folder)
    }
  })

  it('is absent before a join, and during one', async () => {
    expect(await load({ [paths.pair.certificate]: undefined, [paths.pair.key]: undefined })).toBeUndefined()
  })

  it.each([paths.hubCa, paths.kubernetesCa, paths.record])('without %s is not whole', async (path) => {
    await expect(load({ [path]: undefined })).rejects.toThrow(`${path} is missing`)
  })

  it.each([paths.hubCa, paths.kubernetesCa, paths.record, paths.pair.certificate, paths.pair.key])(
    'with a damaged %s names that file',
    async (path) => {
      await expect(load({ [path]: 'damaged' })).rejects.toThrow(path)
    },
  )

  it('does not fit the CA of another hub', async () => {
    await expect(load({ [paths.hubCa]: otherHub.caPem })).rejects.toThrow('is not whole: /d/edge.crt: the certificate')
  })

  it('does not fit another Kubernetes CA', async () => {
    await expect(load({ [paths.kubernetesCa]: otherHub.kubernetesCaPem })).rejects.toThrow('is not the Kubernetes CA')
  })

  it('does not fit the record of another node', async () => {
    const text = (whole.get(paths.record) ?? '').toString().replace('edge-1', 'edge-2')
    await expect(load({ [paths.record]: text })).rejects.toThrow('not about node edge-2')
  })

  it('may be long past its end: only the hub can say whether it is too late', async () => {
    const atMs = clock.nowMs() + 10_000 * DAY_MS
    expect(await loadJoinedIdentity(new EdgeFiles('/d', disk), atMs)).toMatchObject({ node: 'edge-1' })
  })

  it('clears away the key of the join and torn files, and no key of another join', async () => {
    const key = (whole.get(paths.pair.key) ?? '').toString()
    await load({ [paths.joinKey]: key, '/d/.edge.json.0123456789abcdef.tmp': 'torn' })
    expect([...disk.content().keys()].toSorted()).toEqual([...whole.keys()].toSorted())
    const files = new EdgeFiles('/d', disk)
    await files.writeJoinKey((await generateKeys()).privateKey)
    await loadJoinedIdentity(files, clock.nowMs())
    expect(disk.content().has(paths.joinKey)).toBe(true)
  })
})
