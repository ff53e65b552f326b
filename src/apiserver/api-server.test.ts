import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../test/remove-folder.ts'
import { systemClock } from '../runtime/clock.ts'
import { HealthChecks } from '../telemetry/health.ts'
import { ApiServer } from './api-server.ts'
import { REPLACEABLE_CONTROLLERS } from './controllers/replaceable.ts'
import { keyFiles } from './pki/pki.ts'
import { SetupError } from './setup-error.ts'
import { DiskRoom, RESERVED_BYTES } from './storage/lmdb/disk-room.ts'
import { LmdbEnvironment } from './storage/lmdb/environment.ts'
import { LmdbStore } from './storage/lmdb-store.ts'
import { MemoryStore } from './storage/memory-store.ts'
import type { Store } from './storage/store.ts'

let folder: string
let warnings: { msg: string; why?: string }[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-apiserver-'))
  warnings = []
})
afterEach(() => removeFolder(folder))

function serverOn(openStore: () => Promise<Store>): ApiServer {
  const write = (line: string): void => void warnings.push(JSON.parse(line) as { msg: string })
  return new ApiServer({
    dataDir: folder,
    address: { host: '127.0.0.1', port: 0 },
    dnsNames: [],
    ipAddresses: [],
    clock: systemClock,
    logger: pino({ level: 'warn' }, { write }),
    health: new HealthChecks(systemClock),
    registry: new Registry(),
    sharesStore: false,
    skippedControllers: REPLACEABLE_CONTROLLERS,
    openStore,
  })
}

async function startAndStop(openStore: () => Promise<Store>): Promise<void> {
  const running = await serverOn(openStore).start(new AbortController().signal, () => {})
  await running.stop(AbortSignal.abort())
}

async function openStoreWith(diskFreeBytes: number): Promise<Store> {
  const directory = join(folder, 'store')
  const room = new DiskRoom(systemClock, directory, { diskFreeBytes: () => diskFreeBytes, storeFreeBytes: () => 0 })
  return await LmdbStore.on(await LmdbEnvironment.open(directory), systemClock, room)
}

describe('ApiServer on a disk that is nearly full', () => {
  it('says at its first start, in one sentence, where room is missing, how much, and what to do', async () => {
    const failure = await startAndStop(() => openStoreWith(3_051_520)).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(SetupError)
    expect((failure as Error).message).toBe(
      'the API server cannot write what it needs to start: ' +
        `the disk under ${join(folder, 'store')} has 2.9 MiB left, the store wants 32 MiB; make room on that disk`,
    )
    expect(warnings).toEqual([])
  })

  it('starts when it has started there before', async () => {
    await startAndStop(() => openStoreWith(RESERVED_BYTES))
    await startAndStop(() => openStoreWith(3_051_520))
  })
})

describe('ApiServer and its keys', () => {
  const open = (): Promise<Store> => Promise.resolve(new MemoryStore(systemClock))

  it('warns of each key that others may read, and of none that it made', async () => {
    await startAndStop(open)
    expect(warnings).toEqual([])
    for (const file of keyFiles(folder)) chmodSync(file, 0o644)
    await startAndStop(open)
    expect(warnings.map(({ msg }) => msg)).toEqual(keyFiles(folder).map(() => 'a key of this API server is not safe'))
    const first = join(folder, 'ca.key')
    expect(warnings[0]?.why).toBe(
      `${first} has the mode 0644: others than its owner may use this key; chmod 0600 ${first}`,
    )
    expect(warnings.map(({ why }) => why?.split(' ')[0])).toEqual(keyFiles(folder))
  })
})
