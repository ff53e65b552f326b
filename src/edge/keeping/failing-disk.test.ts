/** Disks that fail, hang or may not be written to: what is served goes on, and is kept again later. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import { KeepingOwner, makeDataDir } from '../../../test/worlds/keeping-world.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { answeredInTime, DISK_ANSWER_MS } from './disk-patience.ts'
import { openTreeWriter, type RowWriter } from './lmdb/tree-writer.ts'

let dataDir = ''
beforeEach(() => {
  dataDir = makeDataDir()
})
afterEach(() => removeFolder(dataDir))

describe('a disk that fails', () => {
  const failing = (failure: { error?: Error | undefined; isHanging?: boolean }): typeof openTreeWriter => {
    return async (...args) => {
      const writer = await openTreeWriter(...args)
      const apply: RowWriter['apply'] = async (writes) => {
        if (failure.isHanging) await new Promise(() => undefined)
        if (failure.error !== undefined) throw failure.error
        await writer.apply(writes)
      }
      return { apply, close: () => writer.close() }
    }
  }

  it('turns keeping off, loudly; all goes on, and later everything is written anew', async () => {
    const clock = new ManualClock()
    const failure: { error?: Error | undefined } = {}
    const owner = await KeepingOwner.start(dataDir, { openWriter: failing(failure) }, clock)
    owner.replace('pods', { a: 'one' })
    await owner.keeping.flushed()
    failure.error = new Error('the disk is on fire')
    owner.change('pods', { b: 'two' })
    await owner.keeping.flushed()
    expect(owner.keeping.status).toMatchObject({ isOn: false, problem: 'the disk is on fire' })
    expect(owner.logged('not kept on disk any more')).toBe(true)
    expect(await owner.registry.metrics()).toContain('causeway_edge_keeping_on 0')
    owner.change('pods', { c: 'three' })
    owner.replace('nodes', { n: 'x' })
    owner.keeping.putRecord('b', 'k', Buffer.from('v'), { secret: false })
    await owner.keeping.flushed()
    failure.error = undefined
    await clock.advance(60_000)
    await owner.keeping.flushed()
    expect(owner.keeping.status).toMatchObject({ isOn: true, problem: undefined, feeds: 2, entries: 4, records: 1 })
    const second = await owner.restarted()
    expect(second.view()).toEqual(owner.view())
    expect(second.keeping.records('b').size).toBe(1)
    await second.keeping.close()
  })

  it('leaves what was kept before for the next start', async () => {
    const failure: { error?: Error | undefined } = {}
    const first = await KeepingOwner.start(dataDir, { openWriter: failing(failure) })
    first.replace('pods', { a: 'one' })
    await first.keeping.flushed()
    const kept = first.view()
    failure.error = new Error('no more')
    first.change('pods', { b: 'two' })
    await first.keeping.close()
    const second = await KeepingOwner.start(dataDir, { openWriter: failing(failure) })
    expect(second.view()).toEqual(kept)
    second.change('pods', { c: 'three' })
    await second.keeping.close()
    const third = await KeepingOwner.start(dataDir)
    expect(third.view()).toEqual(kept)
    await third.keeping.close()
  })

  it('that hangs holds nobody up', async () => {
    const clock = new ManualClock()
    const hanging = { isHanging: false }
    const openWriter: typeof openTreeWriter = async (path, itsClock) => {
      const writer = await openTreeWriter(path, itsClock)
      const apply: RowWriter['apply'] = async (writes) =>
        await answeredInTime(itsClock, hanging.isHanging ? new Promise(() => undefined) : writer.apply(writes))
      return { apply, close: () => writer.close() }
    }
    const owner = await KeepingOwner.start(dataDir, { openWriter }, clock)
    owner.replace('pods', { a: 'one' })
    await owner.keeping.flushed()
    hanging.isHanging = true
    owner.change('pods', { b: 'two' })
    const flushed = owner.keeping.flushed()
    await expect.poll(() => clock.nextDueMs).toBe(DISK_ANSWER_MS)
    await clock.advance(DISK_ANSWER_MS)
    await flushed
    expect(owner.keeping.status).toMatchObject({ isOn: false, problem: 'the disk has not answered for 30 s' })
    await owner.keeping.close()
  })

  it('that takes no new file is still read, and nothing is left over from the try', async () => {
    const first = await KeepingOwner.start(dataDir)
    first.replace('pods', { a: 'one' })
    await first.keeping.close()
    const openWriter: typeof openTreeWriter = async () =>
      await Promise.reject(new Error('the file system is read-only'))
    const second = await KeepingOwner.start(dataDir, { openWriter })
    expect(second.view()).toEqual(first.view())
    second.change('pods', { b: 'two' })
    await second.keeping.flushed()
    expect(second.keeping.status).toMatchObject({ isOn: false, problem: 'the file system is read-only' })
    await second.keeping.close()
    expect(readdirSync(join(dataDir, 'replica'))).toEqual(['data.mdb'])
  })

  it('in the middle of a large feed leaves the old one or the new one, never a part', async () => {
    const large = (mark: string): Record<string, string> =>
      Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`name-${index}`, mark.repeat(10_000)]))
    let wholeNew = 0
    for (let failAt = 1; failAt < 12; failAt++) {
      let transactions = 0
      const openWriter: typeof openTreeWriter = async (...args) => {
        const writer = await openTreeWriter(...args)
        const apply: RowWriter['apply'] = async (writes) => {
          if (++transactions === failAt + 5) throw new Error('injected')
          await writer.apply(writes)
        }
        return { apply, close: () => writer.close() }
      }
      const first = await KeepingOwner.start(dataDir, { openWriter })
      first.replace('pods', large('a'))
      await first.keeping.flushed()
      const before = first.view()
      first.replace('pods', large('b'))
      const second = await first.restarted()
      expect(second.loaded.map(({ isComplete }) => isComplete)).toEqual([true])
      const isNew = second.view()['pods']?.version === 2
      expect(second.view()).toEqual(isNew ? first.view() : before)
      if (isNew) wholeNew++
      await second.keeping.erase()
      await second.keeping.close()
    }
    expect(wholeNew).toBeGreaterThan(0)
    expect(wholeNew).toBeLessThan(11)
  })

  it('in the middle of many changes at once leaves all or none of them', async () => {
    for (const failAt of [1, 2]) {
      let transactions = Number.NEGATIVE_INFINITY
      const openWriter: typeof openTreeWriter = async (...args) => {
        const writer = await openTreeWriter(...args)
        const apply: RowWriter['apply'] = async (writes) => {
          if (++transactions === failAt) throw new Error('injected')
          await writer.apply(writes)
        }
        return { apply, close: () => writer.close() }
      }
      const first = await KeepingOwner.start(dataDir, { openWriter })
      first.replace('pods', { a: 'one' })
      await first.keeping.flushed()
      const before = first.view()
      transactions = 0
      const many = Array.from({ length: 400 }, (_, index) => [`name-${index}`, 'x'.repeat(10_000)])
      first.change('pods', Object.fromEntries(many))
      const second = await first.restarted()
      expect(second.loaded.map(({ isComplete }) => isComplete)).toEqual([true])
      expect(second.view()).toEqual(failAt === 1 ? before : first.view())
      await second.keeping.erase()
      await second.keeping.close()
    }
  })
})
