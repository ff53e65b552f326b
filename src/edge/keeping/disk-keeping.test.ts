import { existsSync, readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import { entry, KeepingOwner, makeDataDir } from '../../../test/worlds/keeping-world.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { FLUSH_DELAY_MS, MAX_REPLICA_BYTES } from './disk-keeping.ts'
import { openTreeWriter, type RowWriter } from './lmdb/tree-writer.ts'

let dataDir = ''
beforeEach(() => {
  dataDir = makeDataDir()
})
afterEach(() => removeFolder(dataDir))

describe('DiskKeeping', () => {
  it('brings back feeds and records', async () => {
    const first = await KeepingOwner.start(dataDir)
    expect(first.loaded).toEqual([])
    first.replace('pods', { 'default/a': 'one', 'default/b': 'x'.repeat(10_000) })
    first.replace('nodes', {})
    first.change('pods', { 'default/c': 'three' }, ['default/a'])
    first.keeping.putRecord('verdicts', 'who', Buffer.from('yes'), { secret: false })
    first.keeping.putRecord('tokens', 'pod', Buffer.from('token'), { secret: true })
    first.keeping.putRecord('verdicts', 'gone', Buffer.from('no'), { secret: false })
    first.keeping.deleteRecord('verdicts', 'gone')
    const second = await first.restarted()
    expect(second.view()).toEqual(first.view())
    expect(second.loaded.every(({ isComplete }) => isComplete)).toBe(true)
    expect(second.loaded.find(({ key }) => key === 'pods')?.entries[0]?.form).toBe('json')
    expect([...second.keeping.records('verdicts')]).toEqual([['who', Buffer.from('yes')]])
    expect([...second.keeping.records('tokens')]).toEqual([['pod', Buffer.from('token')]])
    expect([...second.keeping.records('other')]).toEqual([])
    expect(second.keeping.status).toMatchObject({ isOn: true, feeds: 2, entries: 2, records: 2, quarantined: 0 })
    await second.keeping.close()
  })

  it('brings them back again when the run between changed nothing, or was over before it wrote', async () => {
    let owner = await KeepingOwner.start(dataDir)
    owner.replace('pods', { a: 'one' })
    const expected = owner.view()
    for (let run = 0; run < 3; run++) {
      owner = await owner.restarted()
      expect(owner.view()).toEqual(expected)
    }
    owner.keeping.putRecord('b', 'k', Buffer.from('v'), { secret: false })
    owner = await owner.restarted()
    expect(owner.view()).toEqual(expected)
    await owner.keeping.close()
  })

  it('gathers changes and writes them after a while, in one transaction', async () => {
    const clock = new ManualClock()
    let transactions = 0
    const openWriter: typeof openTreeWriter = async (...args) => {
      const writer = await openTreeWriter(...args)
      const apply: RowWriter['apply'] = async (writes) => {
        transactions++
        await writer.apply(writes)
      }
      return { apply, close: () => writer.close() }
    }
    const owner = await KeepingOwner.start(dataDir, { openWriter }, clock)
    owner.replace('pods', { a: 'one' })
    await owner.keeping.flushed()
    const before = transactions
    for (let index = 0; index < 100; index++) owner.change('pods', { [`k${index % 10}`]: `${index}` })
    await clock.advance(FLUSH_DELAY_MS - 1)
    expect(transactions).toBe(before)
    await clock.advance(1)
    await owner.keeping.flushed()
    expect(transactions).toBe(before + 1)
    expect(owner.keeping.status).toMatchObject({ feeds: 1, entries: 11, lastFlushMs: clock.nowMs() })
    expect(await owner.registry.metrics()).toContain('causeway_edge_keeping_kept{kind="entries"} 11')
    await owner.keeping.close()
    expect(clock.pending).toBe(0)
  })

  it('writes no caller and no start waits for', async () => {
    const owner = await KeepingOwner.start(dataDir)
    expect(existsSync(join(dataDir, 'replica', 'data.mdb'))).toBe(false)
    owner.replace('pods', { a: 'one' })
    expect(readdirSync(join(dataDir, 'replica'))).toEqual([])
    await owner.keeping.close()
    expect(readdirSync(join(dataDir, 'replica'))).toEqual(['data.mdb'])
  })

  it('drops what is dropped, and what is not told of again', async () => {
    const first = await KeepingOwner.start(dataDir)
    for (const key of ['a', 'b', 'c']) first.replace(key, { x: key })
    await first.keeping.flushed()
    first.replace('a', { x: 'written twice' })
    await first.keeping.flushed()
    first.drop('a')
    first.drop('b')
    first.replace('b', { y: 'again' })
    const second = await first.restarted()
    expect(second.view()).toEqual({
      b: { version: 1, entries: { y: 'again' } },
      c: { version: 1, entries: { x: 'c' } },
    })
    await second.keeping.close()
  })

  it('asks for the whole of a feed that it does not know', async () => {
    const first = await KeepingOwner.start(dataDir)
    first.replace('known', {})
    await first.keeping.flushed()
    first.feeds.set('silent', { version: 1, secret: false, entries: new Map([['a', 'one']]) })
    first.change('silent', { b: 'two' })
    const second = await first.restarted()
    expect(second.view()['silent']).toEqual({ version: 2, entries: { a: 'one', b: 'two' } })
    await second.keeping.close()
  })

  it('has room for many changes while the disk is slow, and asks for the present state of what was too much', async () => {
    let release = (): void => {}
    let held: Promise<void> | undefined
    const openWriter: typeof openTreeWriter = async (...args) => {
      const writer = await openTreeWriter(...args)
      return {
        apply: async (writes) => (await held?.then(() => writer.apply(writes))) ?? (await writer.apply(writes)),
        close: () => writer.close(),
      }
    }
    const owner = await KeepingOwner.start(dataDir, { openWriter })
    owner.replace('large', {})
    owner.replace('small', {})
    await owner.keeping.flushed()
    const asked = owner.asked
    held = new Promise((resolve) => {
      release = resolve
    })
    owner.change('small', { first: 'x' })
    const flushing = owner.keeping.flushed()
    for (let index = 0; index < 40; index++) owner.change('large', { [`k${index}`]: 'x'.repeat(1_000_000) })
    owner.change('small', { second: 'y' })
    release()
    held = undefined
    await flushing
    await owner.keeping.flushed()
    expect(owner.asked).toBe(asked + 1)
    const second = await owner.restarted()
    expect(second.view()).toEqual(owner.view())
    await second.keeping.close()
  })

  it('keeps its files for the owner alone', async () => {
    const before = process.umask(0)
    try {
      const owner = await KeepingOwner.start(dataDir)
      owner.replace('secrets', { a: 'x' }, { secret: true })
      await owner.keeping.flushed()
      const folder = join(dataDir, 'replica')
      expect(statSync(folder).mode & 0o777).toBe(0o700)
      expect(statSync(join(dataDir, 'replica.key')).mode & 0o777).toBe(0o600)
      expect(readdirSync(folder).length).toBeGreaterThan(0)
      for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
      await owner.keeping.close()
    } finally {
      process.umask(before)
    }
  })

  it('leaves out what it cannot keep, says so, and keeps the rest', async () => {
    const first = await KeepingOwner.start(dataDir)
    first.replace('good', { a: 'one' })
    first.replace('long', { ['n'.repeat(2_000)]: 'x' })
    first.replace('large', { a: 'x'.repeat(8 * 1024 * 1024 + 1) })
    first.keeping.replaceFeed('head', { text: 'x'.repeat(70_000) }, [], { secret: false })
    first.feeds.set('head', { version: 1, secret: false, entries: new Map() })
    first.keeping.putRecord('b', 'k'.repeat(2_000), Buffer.from('x'), { secret: false })
    first.keeping.putRecord('b', 'k', Buffer.alloc(40 * 1024 * 1024), { secret: false })
    await first.keeping.flushed()
    expect(first.keeping.status).toMatchObject({ isOn: true, problem: expect.stringContaining('is not kept') })
    expect(await first.registry.metrics()).toContain('causeway_edge_keeping_unkept_total{reason="long-name"} 2')
    first.replace('long', { short: 'x' })
    first.drop('large')
    first.drop('head')
    await first.keeping.flushed()
    expect(first.keeping.status.problem).toBeUndefined()
    const second = await first.restarted()
    expect(Object.keys(second.view())).toEqual(['good', 'long'])
    await second.keeping.close()
  })

  it('takes a mistake of the owner for a feed that is no more', async () => {
    const owner = await KeepingOwner.start(dataDir)
    owner.keeping.changeFeed('broken', {}, [entry('a', 'x')], [], { secret: false })
    owner.feeds.set('broken', undefined as never)
    Object.defineProperty(owner.feeds, 'get', {
      value: () => {
        throw new Error('oops')
      },
    })
    await owner.keeping.flushed()
    expect(owner.keeping.status).toMatchObject({ isOn: true, feeds: 0 })
    expect(owner.logged('oops')).toBe(true)
    await owner.keeping.close()
  })

  it('writes a file anew that has grown too large', async () => {
    const owner = await KeepingOwner.start(dataDir)
    owner.replace('pods', { a: 'one' })
    await owner.keeping.flushed()
    const dataFile = join(dataDir, 'replica', 'data.mdb')
    truncateSync(dataFile, MAX_REPLICA_BYTES + 4096)
    owner.change('pods', { b: 'two' })
    await owner.keeping.flushed()
    owner.change('pods', { c: 'three' })
    await owner.keeping.flushed()
    expect(statSync(dataFile).size).toBeLessThan(1_000_000)
    const second = await owner.restarted()
    expect(second.view()).toEqual(owner.view())
    await second.keeping.close()
  })
})
