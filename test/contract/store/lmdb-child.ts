/** A process of its own with a store, for the tests that end it: `hold`, `write` or `fill`, and the data directory. */
import { writeSync } from 'node:fs'
import { LmdbStore } from '../../../src/apiserver/storage/lmdb-store.ts'
import type { TransactionResult } from '../../../src/apiserver/storage/store.ts'
import { systemClock } from '../../../src/runtime/clock.ts'

const WRITERS = 8
const VALUE = Buffer.alloc(700, 'v')

const [mode, directory = '', run = ''] = process.argv.slice(2)
const store = await LmdbStore.open(directory, systemClock)
const tell = (line: string): void => void writeSync(1, `${line}\n`)

/** Tells `key revision` for each write that has been acknowledged, and for nothing else. */
async function write(writer: number): Promise<void> {
  for (let count = 0; ; count++) {
    const key = `${run}/${writer}/${count}`
    const overwritten = `${run}/${writer}/same`
    const writes = [key, overwritten].map((key) => ({ type: 'put', key, value: VALUE }) as const)
    const result: TransactionResult = await store.commit({ conditions: [{ key, modRevision: 0 }], writes })
    tell(`${key} ${result.revision}`)
  }
}

if (mode === 'hold') {
  tell('held')
  await systemClock.sleep(60_000)
} else {
  try {
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
  } catch (error) {
    tell(`! ${(error as Error).name}`)
    // What is there can still be read, and deleting goes on.
    const { entries, revision } = await store.list('', { limit: 1 })
    tell(`! read ${entries.length} at ${revision}`)
    await store.close()
  }
}
