/** What only a store on disk can show: that it waits for the disk, survives being killed, and shares with nobody. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DiskRoom, MEASURE_INTERVAL_MS, RESERVED_BYTES } from '../../../src/apiserver/storage/lmdb/disk-room.ts'
import { type Environment, LmdbEnvironment, type TableWrite } from '../../../src/apiserver/storage/lmdb/environment.ts'
import { encodeInteger, FORMAT_VERSION, META_KEYS } from '../../../src/apiserver/storage/lmdb/records.ts'
import { LmdbStore } from '../../../src/apiserver/storage/lmdb-store.ts'
import type { Transaction } from '../../../src/apiserver/storage/store.ts'
import { StoreFullError, StoreOpenError } from '../../../src/apiserver/storage/store-errors.ts'
import { ManualClock } from '../../../src/runtime/clock.ts'
import { removeFolder } from '../../remove-folder.ts'
import { Watcher } from './watcher.ts'

const CHILD = fileURLToPath(new URL('./lmdb-child.ts', import.meta.url))
const put = (key: string, value = 'x', leaseSeconds?: number): Transaction => ({
  conditions: [],
  writes: [{ type: 'put', key, value: Buffer.from(value), ...(leaseSeconds !== undefined && { leaseSeconds }) }],
})

let directory: string
const children: ChildProcess[] = []

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'causeway-lmdb-'))
})
afterEach(async () => {
  await Promise.all(children.splice(0).map(kill))
  removeFolder(directory)
})

/** An environment whose flushes a test can hold back or let fail; everything else is the real one's. */
class HeldEnvironment implements Environment {
  readonly directory = directory
  readonly #inner: Environment
  readonly get: Environment['get']
  readonly scan: Environment['scan']
  readonly scanKeys: Environment['scanKeys']
  readonly countKeys: Environment['countKeys']
  readonly freeBytes: Environment['freeBytes']
  readonly close: Environment['close']
  failure: Error | undefined
  flushes = 0
  #held: Promise<void> | undefined
  release: () => void = () => undefined

  constructor(inner: Environment) {
    this.#inner = inner
    this.get = inner.get.bind(inner)
    this.scan = inner.scan.bind(inner)
    this.scanKeys = inner.scanKeys.bind(inner)
    this.countKeys = inner.countKeys.bind(inner)
    this.freeBytes = inner.freeBytes.bind(inner)
    this.close = inner.close.bind(inner)
  }

  hold(): void {
    this.#held = new Promise((resolve) => {
      this.release = resolve
    })
  }

  async apply(writes: readonly TableWrite[]): Promise<void> {
    this.flushes++
    await this.#held
    if (this.failure !== undefined) throw this.failure
    await this.#inner.apply(writes)
  }
}

async function manyTurns(): Promise<void> {
  for (let count = 0; count < 100; count++) await new Promise((resolve) => setImmediate(resolve))
}

describe('LmdbStore and the disk', () => {
  it('answers nobody, and shows nothing, before the disk has it', async () => {
    const environment = new HeldEnvironment(await LmdbEnvironment.open(directory))
    const store = await LmdbStore.on(environment, new ManualClock())
    const watcher = new Watcher(store, '', 1)
    environment.hold()
    const answers: string[] = []
    const commits = ['a', 'b', 'c'].map((key) => store.commit(put(key)).then(() => answers.push(key)))
    const condition = { conditions: [{ key: 'a', modRevision: 0 }], writes: [] }
    const refused = store.commit(condition).then((result) => answers.push(`${result.committed}`))
    await manyTurns()
    expect(environment.flushes).toBe(2)
    expect(answers).toEqual([])
    expect(watcher.changes).toEqual([])
    expect((await store.list('')).entries).toEqual([])
    environment.release()
    await Promise.all([...commits, refused])
    await watcher.untilRevision(4)
    expect(watcher.changes.map(({ key }) => key)).toEqual(['a', 'b', 'c'])
    expect(answers).toEqual(['a', 'b', 'c', 'false'])
    await watcher.stop()
    await store.close()
  })

  it('takes a flush that fails for something that never was', async () => {
    const environment = new HeldEnvironment(await LmdbEnvironment.open(directory))
    const store = await LmdbStore.on(environment, new ManualClock())
    const watcher = new Watcher(store, '', 1)
    environment.failure = new StoreFullError('the disk is full')
    await expect(store.commit(put('a'))).rejects.toBe(environment.failure)
    environment.failure = undefined
    const conditions = [{ key: 'a', modRevision: 0 }]
    expect(await store.commit({ ...put('a', 'again'), conditions })).toEqual({ committed: true, revision: 2 })
    await watcher.untilRevision(2)
    expect(watcher.changes.map(({ entry }) => entry?.value.toString())).toEqual(['again'])
    await watcher.stop()
    await store.close()
  })

  it('flushes once for many', async () => {
    const environment = new HeldEnvironment(await LmdbEnvironment.open(directory))
    const store = await LmdbStore.on(environment, new ManualClock())
    const before = environment.flushes
    await Promise.all(Array.from({ length: 100 }, (_, index) => store.commit(put(`k${index}`))))
    expect(environment.flushes - before).toBe(1)
    await store.close()
  })

  it('when the disk is nearly full, puts nothing more but still deletes and compacts', async () => {
    const clock = new ManualClock()
    let freeBytes = RESERVED_BYTES
    const room = new DiskRoom(clock, directory, { diskFreeBytes: () => freeBytes, storeFreeBytes: () => 0 })
    const store = await LmdbStore.on(await LmdbEnvironment.open(directory), clock, room)
    await store.commit(put('a'))
    freeBytes = RESERVED_BYTES - 1
    await clock.advance(MEASURE_INTERVAL_MS)
    await expect(store.commit(put('b'))).rejects.toBeInstanceOf(StoreFullError)
    await store.commit({ conditions: [], writes: [{ type: 'delete', key: 'a' }] })
    await store.compact(3)
    expect((await store.list('')).entries).toEqual([])
    await store.close()
  })

  it('takes puts again when deleted objects are forgotten, though the file does not shrink', async () => {
    const clock = new ManualClock()
    const environment = await LmdbEnvironment.open(directory)
    let diskFreeBytes = RESERVED_BYTES
    const measures = { diskFreeBytes: () => diskFreeBytes, storeFreeBytes: () => environment.freeBytes() }
    const store = await LmdbStore.on(environment, clock, new DiskRoom(clock, directory, measures))
    const keys = Array.from({ length: 12 }, (_, index) => `k${index}`)
    for (const key of keys) await store.commit(put(key, 'x'.repeat(1_000_000)))
    diskFreeBytes -= 8 * 1024 * 1024
    await clock.advance(MEASURE_INTERVAL_MS)
    await expect(store.commit(put('b'))).rejects.toThrow('delete objects')
    for (const key of keys) await store.commit({ conditions: [], writes: [{ type: 'delete', key }] })
    await clock.advance(MEASURE_INTERVAL_MS)
    await expect(store.commit(put('b'))).rejects.toBeInstanceOf(StoreFullError)
    const size = async (): Promise<number> => (await stat(join(directory, 'data.mdb'))).size
    const before = await size()
    await store.compact(await store.revision())
    expect(environment.freeBytes()).toBeGreaterThan(12_000_000)
    await clock.advance(MEASURE_INTERVAL_MS)
    for (const key of keys.slice(0, 3)) await store.commit(put(key, 'y'.repeat(1_000_000)))
    expect(await size()).toBe(before)
    await store.close()
  })

  it('gives the disk back what a compaction forgets', async () => {
    const environment = await LmdbEnvironment.open(directory)
    const store = await LmdbStore.on(environment, new ManualClock())
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => store.commit(put(`k${index}`, `${round}`))))
    }
    const rows = () =>
      (['log', 'undo'] as const).map((table) => environment.countKeys(table, { start: encodeInteger(0) }))
    expect(rows()).toEqual([500, 500])
    await store.compact(401)
    expect(rows()).toEqual([100, 100])
    await store.close()
  })

  it('ends leases that ran out while it was closed', async () => {
    const clock = new ManualClock()
    const first = await LmdbStore.open(directory, clock)
    await first.commit(put('short', 'x', 10))
    await first.commit(put('long', 'x', 1000))
    await first.close()
    await clock.advance(60_000)
    const second = await LmdbStore.open(directory, clock)
    const watcher = new Watcher(second, '', 3)
    await clock.advance(2_000)
    await watcher.untilRevision(4)
    expect(watcher.changes).toMatchObject([{ type: 'delete', key: 'short' }])
    await watcher.stop()
    await second.close()
    expect(clock.pending).toBe(0)
  })

  it('keeps its files for the owner', async () => {
    const nested = join(directory, 'data')
    const store = await LmdbStore.open(nested, new ManualClock())
    const modes = await Promise.all(
      ['.', 'data.mdb', 'lock.mdb'].map(async (name) => (await stat(join(nested, name))).mode & 0o777),
    )
    expect(modes).toEqual([0o700, 0o600, 0o600])
    await store.close()
  })
})

describe('LmdbStore refuses to open', () => {
  const refusal = async (path = directory): Promise<unknown> =>
    LmdbStore.open(path, new ManualClock()).then(
      (store) => store.close(),
      (error: unknown) => error,
    )

  it('what another process has open, until that one is gone', async () => {
    const child = startChild('hold')
    await once(child.stdout ?? child, 'data')
    const error = await refusal()
    expect(error).toBeInstanceOf(StoreOpenError)
    expect((error as Error).message).toContain(`in use by process ${child.pid}`)
    await kill(child)
    expect(await refusal()).toBeUndefined()
  })

  it('what this process has open', async () => {
    const store = await LmdbStore.open(directory, new ManualClock())
    expect(await refusal()).toMatchObject({ name: 'StoreOpenError', message: expect.stringContaining('already open') })
    await store.close()
    expect(await refusal()).toBeUndefined()
  })

  it('what a newer version has written', async () => {
    const environment = await LmdbEnvironment.open(directory)
    await environment.apply([{ table: 'meta', key: META_KEYS.format, value: encodeInteger(FORMAT_VERSION + 1) }])
    await environment.close()
    const message = `the store in ${directory} has format ${FORMAT_VERSION + 1}`
    expect(await refusal()).toMatchObject({ name: 'StoreOpenError', message: expect.stringContaining(message) })
  })

  it('what is no directory', async () => {
    const file = join(directory, 'file')
    await writeFile(file, 'x')
    expect(await refusal(file)).toMatchObject({ name: 'StoreOpenError', message: expect.stringContaining(file) })
  })

  it.each([
    ['is no database', 'not a database', () => Buffer.alloc(20_000, 'garbage')],
    ['is of another version', 'version 9', (sound: Buffer) => overwritten(sound, 28, 9)],
    ['has lost its second meta page', 'damaged', (sound: Buffer) => sound.subarray(0, 4096)],
    ['has lost all but its meta pages', 'cut off', (sound: Buffer) => sound.subarray(0, 8192)],
  ])('a file that %s', async (_, complaint, spoil) => {
    const store = await LmdbStore.open(directory, new ManualClock())
    await store.commit(put('a'))
    await store.close()
    const path = join(directory, 'data.mdb')
    await writeFile(path, spoil(await readFile(path)))
    expect(await refusal()).toMatchObject({ name: 'StoreOpenError', message: expect.stringContaining(complaint) })
  })
})

function overwritten(bytes: Buffer, offset: number, value: number): Buffer {
  bytes.writeUInt32LE(value, offset)
  return bytes
}

describe('LmdbStore survives', () => {
  it('kill -9 in the middle of writing: all that was acknowledged is there, and nothing by halves', async () => {
    const acknowledged = new Map<string, number>()
    for (const [run, enough] of [40, 300, 100].entries()) {
      const child = startChild('write', `${run}`)
      let output = ''
      const written = new Promise<void>((resolve) => {
        child.stdout?.on('data', (chunk: Buffer) => {
          output += chunk.toString()
          if (output.length > enough * 10) resolve()
        })
      })
      await Promise.race([written, once(child, 'exit')])
      await kill(child)
      for (const line of output.split('\n').slice(0, -1)) remember(acknowledged, line)
      await compareWith(acknowledged)
    }
    expect(acknowledged.size).toBeGreaterThan(100)
  })

  it.each([
    ['between two pages', 4_000],
    ['in the middle of a page', 4_002],
  ])('a disk that is full %s: it says so, and what was acknowledged stays', async (_, maxFileKib) => {
    const child = startChild('fill', 'full', maxFileKib)
    let output = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    // When it has exited, its last words may still be on their way.
    await once(child, 'close')
    const acknowledged = new Map<string, number>()
    const lines = output.split('\n').slice(0, -1)
    for (const line of lines.filter((line) => !line.startsWith('!'))) remember(acknowledged, line)
    expect(acknowledged.size).toBeGreaterThan(100)
    const last = Math.max(...acknowledged.values())
    expect(lines.filter((line) => line.startsWith('!'))).toEqual(['! StoreFullError', `! read 1 at ${last}`])
    await compareWith(acknowledged)
  })
})

function remember(acknowledged: Map<string, number>, line: string): void {
  const [key = '', revision = ''] = line.split(' ')
  acknowledged.set(key, Number(revision))
}

/** Opens the store and holds it against what its writers were told: each write is there as a whole, with its history. */
async function compareWith(acknowledged: ReadonlyMap<string, number>): Promise<void> {
  const store = await LmdbStore.open(directory, new ManualClock())
  for (const [key, revision] of acknowledged) {
    expect((await store.get(key)).entry).toMatchObject({ createRevision: revision, modRevision: revision })
  }
  const revision = await store.revision()
  const watcher = new Watcher(store, '', 1)
  await watcher.untilRevision(revision)
  const expected = Array.from({ length: revision - 1 }, (_, index) => index + 2).flatMap((each) => [each, each])
  expect(watcher.changes.map((change) => change.revision)).toEqual(expected)
  await watcher.stop()
  await store.close()
}

/** `maxFileKib` stands for a disk of that size: the kernel lets no file grow beyond it. */
function startChild(mode: 'hold' | 'write' | 'fill', run = '', maxFileKib?: number): ChildProcess {
  const command = [process.execPath, '--import', 'tsx', CHILD, mode, directory, run]
  const stdio = ['ignore', 'pipe', 'ignore'] as const
  const limited = ['-c', `ulimit -f ${maxFileKib}; exec "$@"`, 'limited', ...command]
  const child =
    maxFileKib === undefined
      ? spawn(process.execPath, command.slice(1), { stdio: [...stdio] })
      : spawn('bash', limited, { stdio: [...stdio] })
  children.push(child)
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
