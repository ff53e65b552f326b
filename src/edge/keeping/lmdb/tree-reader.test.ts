/** The reader beside LMDB itself, which writes the files; then files that are damaged. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../../test/remove-folder.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { FileReader, type ReadableFile } from './file-reader.ts'
import { TreeReader } from './tree-reader.ts'
import { openTreeWriter, type RowWrite } from './tree-writer.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-tree-'))
})
afterEach(() => removeFolder(folder))

type Rows = Map<string, string>

/** A file in memory. */
function fileOf(bytes: Buffer, check: (offset: number, length: number) => void = () => {}): ReadableFile {
  const read = (target: Buffer, offset: number): number => {
    check(offset, target.length)
    return bytes.copy(target, 0, offset, offset + target.length)
  }
  return { sizeBytes: bytes.length, read, readLater: async (...args) => read(...args), close: async () => {} }
}

async function readTree(file: ReadableFile): Promise<{ rows: Rows; lost: number; unreadable: number }> {
  const reader = new FileReader(file)
  await reader.readAhead()
  const tree = new TreeReader(reader, systemClock)
  const rows: Rows = new Map()
  let unreadable = 0
  for await (const { key, value } of tree.rows()) {
    if (value === undefined) unreadable++
    else rows.set(key.toString('hex'), value.toString('hex'))
  }
  return { rows, lost: tree.lostPages + tree.lostNodes, unreadable }
}

let files = 0

/** Has LMDB apply the transactions, and returns its file. */
async function written(transactions: readonly (readonly RowWrite[])[]): Promise<Buffer> {
  const path = join(folder, `${files++}.mdb`)
  writeFileSync(path, '')
  const writer = await openTreeWriter(path, systemClock)
  for (const writes of transactions) await writer.apply(writes)
  await writer.close()
  return readFileSync(path)
}

function resultOf(transactions: readonly (readonly RowWrite[])[]): Rows {
  const rows: Rows = new Map()
  for (const { key, value } of transactions.flat()) {
    if (value === undefined) rows.delete(key.toString('hex'))
    else rows.set(key.toString('hex'), value.toString('hex'))
  }
  return rows
}

const keys = fc.oneof(
  fc.integer({ min: 0, max: 400 }).map((number) => Buffer.from(`key-${number}`)),
  fc.uint8Array({ minLength: 1, maxLength: 1_000 }).map((bytes) => Buffer.from(bytes)),
)
/** Around the size from which a value has pages of its own, and those of one and several pages. */
const lengths = fc.oneof(
  fc.integer({ min: 0, max: 100 }),
  fc.constantFrom(1_990, 2_000, 2_010, 2_020, 2_030, 2_040, 4_071, 4_072, 4_073, 8_168, 8_169, 70_000),
)
const values = fc.tuple(lengths, fc.nat(255)).map(([length, byte]) => Buffer.alloc(length, byte))
const writes = fc.record({ key: keys, value: fc.option(values, { nil: undefined, freq: 4 }) })
const transactions = fc.array(fc.array(writes, { minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 12 })

/** Many rows, small and large, over several transactions. */
function sample(): RowWrite[][] {
  return Array.from({ length: 8 }, (_, round) =>
    Array.from({ length: 200 }, (_, index) => ({
      key: Buffer.from(`row-${String(index * 3 + (round % 3)).padStart(5, '0')}`),
      value: Buffer.alloc(index % 4 === 0 ? 3_000 : 90, round + 1),
    })),
  )
}

describe('TreeReader', () => {
  it('reads what LMDB has written', async () => {
    await fc.assert(
      fc.asyncProperty(transactions, async (all) => {
        const { rows, lost, unreadable } = await readTree(fileOf(await written(all)))
        expect({ lost, unreadable }).toEqual({ lost: 0, unreadable: 0 })
        expect(rows).toEqual(resultOf(all))
        expect([...rows.keys()]).toEqual([...rows.keys()].sort())
      }),
      { numRuns: 20 },
    )
  })

  it('reads nothing where there is nothing', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(100), Buffer.alloc(20_000, 'garbage')]) {
      expect(await readTree(fileOf(bytes))).toEqual({ rows: new Map(), lost: 1, unreadable: 0 })
    }
  })

  it('loses only what was on the damaged page', async () => {
    const sound = await written(sample())
    const expected = resultOf(sample())
    for (let page = 2; page * 4096 < sound.length; page++) {
      const bytes = Buffer.from(sound)
      bytes.fill(0xff, page * 4096, (page + 1) * 4096)
      const { rows } = await readTree(fileOf(bytes))
      expect(rows.size).toBeGreaterThan(expected.size / 2)
    }
  })

  it('takes the state before the last, if the last has lost its root', async () => {
    const all = sample()
    const before = resultOf(all.slice(0, -1))
    const bytes = await written(all)
    const newer = bytes.readBigUInt64LE(152) > bytes.readBigUInt64LE(4096 + 152) ? 0 : 4096
    const root = Number(bytes.readBigUInt64LE(newer + 136))
    bytes.fill(0, root * 4096, (root + 1) * 4096)
    expect((await readTree(fileOf(bytes))).rows).toEqual(before)
    const cut = await written(all)
    cut.fill(0, newer, newer + 4096)
    expect((await readTree(fileOf(cut))).rows).toEqual(before)
  })

  it('does not take an older value for the one that was meant', async () => {
    const key = Buffer.from('key')
    const bytes = await written([[{ key, value: Buffer.alloc(3_000, 1) }]])
    const page = Math.floor(bytes.indexOf(Buffer.alloc(100, 1)) / 4096)
    bytes.writeBigUInt64LE(0n, page * 4096 + 8)
    expect(await readTree(fileOf(bytes))).toMatchObject({ rows: new Map(), unreadable: 1 })
  })

  it('reads around bad sectors', async () => {
    const sound = await written(sample())
    const bad = Math.floor(sound.length / 4096 / 2) * 4096
    const file = fileOf(sound, (offset, length) => {
      if (offset < bad + 4096 && offset + length > bad) throw new Error('EIO')
    })
    expect((await readTree(file)).rows.size).toBeGreaterThan(resultOf(sample()).size / 2)
  })

  it('ends, without an error, whatever is in the file', async () => {
    const sound = await written(sample())
    const damage = fc.array(fc.tuple(fc.nat(sound.length - 1), fc.nat(255)), { minLength: 1, maxLength: 50 })
    const beginning = fc.array(fc.tuple(fc.nat(3 * 4096), fc.nat(255)), { maxLength: 10 })
    await fc.assert(
      fc.asyncProperty(damage, beginning, fc.nat(sound.length), fc.boolean(), async (some, more, length, isCut) => {
        const bytes = Buffer.from(isCut ? sound.subarray(0, length) : sound)
        for (const [at, value] of [...some, ...more]) if (at < bytes.length) bytes[at] = value
        await readTree(fileOf(bytes))
      }),
      { numRuns: 200 },
    )
  })

  it('does not follow a circle', async () => {
    const bytes = await written(sample())
    const newer = bytes.readBigUInt64LE(152) > bytes.readBigUInt64LE(4096 + 152) ? 0 : 4096
    const root = Number(bytes.readBigUInt64LE(newer + 136))
    const firstChildAt = root * 4096 + 24 + bytes.readUInt16LE(root * 4096 + 24)
    bytes.writeUIntLE(root, firstChildAt, 6)
    bytes.fill(0, 4096 - newer, 4096 - newer + 200)
    const { rows, lost } = await readTree(fileOf(bytes))
    expect(lost).toBe(1)
    expect(rows.size).toBeGreaterThan(0)
  })
})
