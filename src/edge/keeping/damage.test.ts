/** Files that are damaged in every way: a start succeeds, what is shown is what was written, and everything goes on. */
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import { KeepingOwner, makeDataDir, randomStep, seeded } from '../../../test/worlds/keeping-world.ts'

let dataDir = ''
let dataFile = ''
beforeEach(() => {
  dataDir = makeDataDir()
  dataFile = join(dataDir, 'replica', 'data.mdb')
})
afterEach(() => removeFolder(dataDir))

/** Some hundred entries of all sizes, told in many steps. */
async function fill(): Promise<KeepingOwner> {
  const owner = await KeepingOwner.start(dataDir)
  const random = seeded(7)
  for (let step = 1; step <= 60; step++) {
    randomStep(owner, random, step)
    if (step % 10 === 0) await owner.keeping.flushed()
  }
  for (let index = 0; index < 20; index++) {
    owner.keeping.putRecord('records', `${index}`, Buffer.from(`record ${index}`), { secret: index % 2 === 0 })
  }
  await owner.keeping.close()
  return owner
}

/** What a start may show after damage to the file of `before`; returns how many entries are left. */
function expectHonest(after: KeepingOwner, before: KeepingOwner): number {
  let entries = 0
  const [found, written] = [after.view(), before.view()]
  for (const { key, isComplete } of after.loaded) {
    // The state before the last transaction may be shown where the last one is lost.
    if (isComplete && found[key]?.version === written[key]?.version) expect(found[key]).toEqual(written[key])
    for (const [name, text] of Object.entries(found[key]?.entries ?? {})) {
      entries++
      if (found[key]?.version === written[key]?.version) expect(text).toBe(written[key]?.entries[name])
    }
  }
  for (const [key, value] of after.keeping.records('records'))
    expect(Buffer.from(value).toString()).toBe(`record ${key}`)
  return entries
}

/** A new run after the damaged one has all that one had, and what it was told. */
async function expectToGoOn(after: KeepingOwner): Promise<void> {
  after.replace('new', { a: 'after the damage' })
  const next = await after.restarted()
  expect(next.view()).toEqual(after.view())
  expect(next.loaded.every(({ isComplete }) => isComplete)).toBe(true)
  expect(next.keeping.status).toMatchObject({ isOn: true, quarantined: 0 })
  await next.keeping.close()
}

function entriesOf(owner: KeepingOwner): number {
  return Object.values(owner.view()).reduce((sum, { entries }) => sum + Object.keys(entries).length, 0)
}

function putFileForFolder(): void {
  removeFolder(join(dataDir, 'replica'))
  writeFileSync(join(dataDir, 'replica'), 'x')
}

describe('after damage', () => {
  it.each([1, 3, 30])('of %i bytes anywhere in the file, the rest is there', async (count) => {
    const before = await fill()
    const sound = readFileSync(dataFile)
    const places = fc.array(fc.tuple(fc.nat(sound.length - 1), fc.integer({ min: 1, max: 255 })), {
      minLength: count,
      maxLength: count,
    })
    let left = 0
    const numRuns = 25
    await fc.assert(
      fc.asyncProperty(places, async (some) => {
        const bytes = Buffer.from(sound)
        for (const [at, flip] of some) bytes[at] = (bytes[at] ?? 0) ^ flip
        writeFileSync(dataFile, bytes)
        const after = await KeepingOwner.start(dataDir)
        left += expectHonest(after, before)
        await expectToGoOn(after)
      }),
      { numRuns },
    )
    // Most places belong to one entry.
    if (count === 1) expect(left).toBeGreaterThan(entriesOf(before) * numRuns * 0.8)
  })

  it('that cuts the file off, what is left of it is there', async () => {
    const before = await fill()
    const sound = readFileSync(dataFile)
    for (const share of [0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99]) {
      writeFileSync(dataFile, sound)
      truncateSync(dataFile, Math.floor(sound.length * share))
      const after = await KeepingOwner.start(dataDir)
      expectHonest(after, before)
      await expectToGoOn(after)
    }
  })

  it('tells of it, counts it, and keeps the damaged file for whoever wants to see it', async () => {
    const before = await KeepingOwner.start(dataDir)
    before.replace('pods', { a: 'x'.repeat(10_000), b: 'good' })
    before.replace('nodes', { n: 'good' })
    await before.keeping.close()
    const bytes = readFileSync(dataFile)
    bytes[bytes.indexOf('x'.repeat(100)) + 5_000] = 0
    writeFileSync(dataFile, bytes)
    const after = await KeepingOwner.start(dataDir)
    expect(after.loaded.map(({ key, isComplete, entries }) => [key, isComplete, entries.length])).toEqual([
      ['pods', false, 1],
      ['nodes', true, 1],
    ])
    expect(after.keeping.status).toMatchObject({ isOn: true, quarantined: 1 })
    expect(after.logged('the replica was damaged')).toBe(true)
    expect(await after.registry.metrics()).toContain('causeway_edge_keeping_quarantined_total{reason="damaged"} 1')
    after.change('nodes', { m: 'new' })
    await after.keeping.close()
    expect(readdirSync(join(dataDir, 'replica')).sort()).toEqual(['damaged.mdb', 'data.mdb'])
    expect(readFileSync(join(dataDir, 'replica', 'damaged.mdb')).equals(bytes)).toBe(true)
  })

  it.each([
    ['an empty file', () => writeFileSync(dataFile, '')],
    ['garbage', () => writeFileSync(dataFile, Buffer.alloc(100_000, 'garbage'))],
    ['a folder', () => mkdirSync(join(dataFile, 'sub'), { recursive: true })],
    ['a file where the folder should be', putFileForFolder],
    ['nothing', () => undefined],
    ['left-overs', () => writeFileSync(join(dataDir, 'replica', `fresh-${'0'.repeat(16)}.mdb`), 'x')],
    ['a lock file of others', () => writeFileSync(`${dataFile}-lock`, Buffer.alloc(8_192, 0xff))],
  ])('begins anew with %s in its place', async (_, spoil) => {
    await fill()
    removeFolder(dataFile)
    spoil()
    const after = await KeepingOwner.start(dataDir)
    expect(after.view()).toEqual({})
    await expectToGoOn(after)
  })

  it('begins anew after another version', async () => {
    const before = await fill()
    const bytes = readFileSync(dataFile)
    const { FORMAT_ROW_KEY } = await import('./row-keys.ts')
    const { encodeRow } = await import('./row-values.ts')
    const [ours, other] = ['1', '2'].map((format) => encodeRow(FORMAT_ROW_KEY, [Buffer.from(format)])) as [
      Buffer,
      Buffer,
    ]
    for (let at = bytes.indexOf(ours); at >= 0; at = bytes.indexOf(ours, at + 1)) other.copy(bytes, at)
    writeFileSync(dataFile, bytes)
    const after = await KeepingOwner.start(dataDir)
    expect(Object.keys(before.view())).not.toEqual([])
    expect(after.view()).toEqual({})
    expect(after.logged('another version')).toBe(true)
    await expectToGoOn(after)
  })
})
