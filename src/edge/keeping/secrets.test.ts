/** What is secret on disk: never in plain, gone with its key, gone when it is erased. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import { KeepingOwner, makeDataDir } from '../../../test/worlds/keeping-world.ts'
import { eraseReplica } from './replica-files.ts'

let dataDir = ''
beforeEach(() => {
  dataDir = makeDataDir()
})
afterEach(() => removeFolder(dataDir))

/** Everything in the files below a folder. */
function bytesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => readFileSync(join(each.parentPath, each.name), 'latin1'))
    .join('\n')
}

describe('secrets', () => {
  const plain = 'the-plain-text-of-a-secret'

  it('are never on disk in plain, whatever happens to them', async () => {
    const first = await KeepingOwner.start(dataDir)
    first.replace('secrets', { a: plain, b: plain.repeat(500) }, { secret: true })
    first.keeping.putRecord('tokens', 'x', Buffer.from(plain), { secret: true })
    await first.keeping.flushed()
    first.change('secrets', { c: plain }, ['a'])
    await first.keeping.flushed()
    expect(bytesBelow(dataDir)).not.toContain(plain)
    const second = await first.restarted()
    expect(second.view()).toEqual(first.view())
    await second.keeping.flushed()
    await second.keeping.close()
    expect(bytesBelow(dataDir)).not.toContain(plain)
  })

  it('can be kept with a key from outside, and then there is none of ours', async () => {
    const keyFile = join(dataDir, 'credential')
    writeFileSync(keyFile, 'k'.repeat(44))
    const first = await KeepingOwner.start(dataDir, { keyFile })
    first.replace('secrets', { a: plain }, { secret: true })
    const second = await first.restarted({ keyFile })
    expect(second.view()).toEqual(first.view())
    await second.keeping.close()
    expect(existsSync(join(dataDir, 'replica.key'))).toBe(false)
  })

  it.each([
    ['is missing', () => undefined, undefined],
    ['is another one', (file: string) => writeFileSync(file, 'y'.repeat(32)), undefined],
    ['is too short', (file: string) => writeFileSync(file, 'short'), 'has 5 bytes instead of 32'],
    ['is a folder', (file: string) => mkdirSync(file), 'replica.key'],
  ])('are dropped, loudly, when our own key %s; the rest is there', async (_, spoil, problem) => {
    const first = await KeepingOwner.start(dataDir)
    first.replace('secrets', { a: plain, b: plain }, { secret: true })
    first.replace('pods', { a: 'one' })
    first.keeping.putRecord('tokens', 'x', Buffer.from(plain), { secret: true })
    await first.keeping.close()
    const keyFile = join(dataDir, 'replica.key')
    removeFolder(keyFile)
    spoil(keyFile)
    const second = await KeepingOwner.start(dataDir)
    const secrets = second.loaded.find(({ key }) => key === 'secrets')
    expect(secrets).toMatchObject({ isComplete: false, entries: [] })
    expect(second.view()['pods']).toEqual(first.view()['pods'])
    expect(second.keeping.status).toMatchObject({ isOn: true, quarantined: 3 })
    expect(second.logged('encrypted with another key')).toBe(true)
    if (problem !== undefined) expect(second.logged(problem)).toBe(true)
    expect(await second.registry.metrics()).toContain('causeway_edge_keeping_quarantined_total{reason="key"} 3')
    await second.keeping.close()
  })

  it.each([
    ['missing', undefined, 'there is no key file'],
    ['short', 'short', 'has 5 bytes, and needs at least 32'],
    ['far too long', 'x'.repeat(5_000), 'larger than 4096 bytes'],
  ])('stay in memory while the key from outside is %s', async (_, content, problem) => {
    const keyFile = join(dataDir, 'credential')
    if (content !== undefined) writeFileSync(keyFile, content)
    const first = await KeepingOwner.start(dataDir, { keyFile })
    first.replace('secrets', { a: plain }, { secret: true })
    first.replace('pods', { a: 'one' })
    first.keeping.putRecord('tokens', 'x', Buffer.from(plain), { secret: true })
    await first.keeping.flushed()
    expect(first.keeping.status).toMatchObject({ isOn: true, feeds: 1, problem: expect.stringContaining(problem) })
    expect([...first.keeping.records('tokens').keys()]).toEqual(['x'])
    expect(bytesBelow(join(dataDir, 'replica'))).not.toContain(plain)
    expect(existsSync(join(dataDir, 'replica.key'))).toBe(false)
    const second = await first.restarted({ keyFile })
    expect(Object.keys(second.view())).toEqual(['pods'])
    await second.keeping.close()
  })
})

describe('erasing', () => {
  it('leaves nothing, and what is said afterwards is kept', async () => {
    const first = await KeepingOwner.start(dataDir)
    first.replace('pods', { a: 'the-old-cluster' })
    first.replace('secrets', { a: 'x' }, { secret: true })
    first.keeping.putRecord('b', 'k', Buffer.from('the-old-cluster'), { secret: false })
    await first.keeping.flushed()
    const oldKey = readFileSync(join(dataDir, 'replica.key'))
    first.feeds.clear()
    await first.keeping.erase()
    expect(readdirSync(dataDir)).toEqual([])
    expect(first.keeping.status).toMatchObject({ isOn: true, bytes: 0, feeds: 0, entries: 0, records: 0 })
    first.replace('secrets', { b: 'new' }, { secret: true })
    const second = await first.restarted()
    expect(Object.keys(second.view())).toEqual(['secrets'])
    expect([...second.keeping.records('b')]).toEqual([])
    expect(bytesBelow(dataDir)).not.toContain('the-old-cluster')
    expect(readFileSync(join(dataDir, 'replica.key')).equals(oldKey)).toBe(false)
    await second.keeping.close()
  })

  it('in the middle of a start ends that, too', async () => {
    const first = await KeepingOwner.start(dataDir)
    for (const key of ['a', 'b', 'c']) first.replace(key, { x: 'one' })
    first.keeping.putRecord('b', 'k', Buffer.from('old'), { secret: false })
    await first.keeping.close()
    const second = new KeepingOwner(dataDir)
    const loaded: string[] = []
    for await (const { key } of second.keeping.load()) {
      loaded.push(key)
      await second.keeping.erase()
    }
    expect(loaded).toHaveLength(1)
    expect(second.keeping.status).toMatchObject({ isOn: true, bytes: 0, feeds: 0, records: 0 })
    await second.keeping.close()
    expect(readdirSync(dataDir)).toEqual([])
  })

  it('works while nothing is open, and where there is nothing', async () => {
    await eraseReplica(dataDir)
    const first = await KeepingOwner.start(dataDir)
    first.replace('pods', { a: 'one' })
    await first.keeping.close()
    await eraseReplica(dataDir)
    expect(readdirSync(dataDir)).toEqual([])
  })

  it('is ended by the next start when it was interrupted', async () => {
    const first = await KeepingOwner.start(dataDir)
    first.replace('secrets', { a: 'one' }, { secret: true })
    await first.keeping.close()
    renameSync(join(dataDir, 'replica'), join(dataDir, 'replica.erased'))
    const second = await KeepingOwner.start(dataDir)
    expect(second.view()).toEqual({})
    expect(readdirSync(dataDir)).toEqual(['replica'])
    await second.keeping.close()
  })

  it('says when the disk stands in the way', async () => {
    await expect(eraseReplica(join(dataDir, 'no', 'such'))).rejects.toMatchObject({ code: 'unwritable-file' })
  })
})
