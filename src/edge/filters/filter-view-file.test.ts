import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { diskOperations, type FileOperations } from '../../runtime/files/file-operations.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { FilterViewFile, MAX_FILTER_VIEW_BYTES } from './filter-view-file.ts'

const first = { filters: ['masterservice'], endpoint: { address: '169.254.30.10', port: 10_550 }, localPods: '' }
const second = { filters: [], endpoint: undefined, localPods: 'a.1' }
let dataDir: string
let path: string
let log: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'causeway-view-'))
  path = join(dataDir, 'filter-view.json')
  log = ''
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

async function start(files: FileOperations = diskOperations) {
  const destination = { write: (line: string) => (log += line) }
  const logger = createLogger({ level: 'debug', format: 'json', clock: new ManualClock(), destination })
  const file = new FilterViewFile({ dataDir, logger, files })
  const running = await file.start()
  return { file, stop: () => running.stop(AbortSignal.abort()) }
}

describe('the view on disk', () => {
  it('is that of the run before, whatever is written meanwhile', async () => {
    const one = await start()
    expect(one.file.before).toBeUndefined()
    one.file.write(second)
    one.file.write(first)
    await one.stop()
    expect(one.file.before).toBeUndefined()
    const other = await start()
    expect(other.file.before).toEqual(first)
    other.file.write(second)
    await other.stop()
    expect(other.file.before).toEqual(first)
    expect((await start()).file.before).toEqual(second)
    expect(readdirSync(dataDir)).toEqual(['filter-view.json'])
    expect(log).toBe('')
  })

  it('is not written where it is there already', async () => {
    let writes = 0
    const files: FileOperations = {
      ...diskOperations,
      rename: async (from, to) => {
        writes++
        await diskOperations.rename(from, to)
      },
    }
    for (const views of [[first, first], [first], [second, second, first]]) {
      const { file, stop } = await start(files)
      for (const view of views) file.write(view)
      await stop()
    }
    expect(writes).toBe(3)
  })

  it.each([
    ['broken', '{'],
    ['far too long', ' '.repeat(MAX_FILTER_VIEW_BYTES + 1)],
  ])('that is %s is unreadable, said in the log and replaced', async (_what, text) => {
    writeFileSync(path, text)
    const { file, stop } = await start()
    expect(file.before).toBe('unreadable')
    expect(log).toContain('the view of the run before is not known')
    file.write(first)
    await stop()
    expect((await start()).file.before).toEqual(first)
  })

  it('stays the old one when the disk fails, and the next write is tried all the same', async () => {
    const one = await start()
    one.file.write(first)
    await one.stop()
    let isBroken = true
    const rename: FileOperations['rename'] = async (from, to) => {
      if (isBroken) throw new Error('the disk is gone')
      await diskOperations.rename(from, to)
    }
    const other = await start({ ...diskOperations, rename })
    const before = readFileSync(path, 'utf8')
    other.file.write(second)
    await other.stop()
    expect(readFileSync(path, 'utf8')).toBe(before)
    expect(log).toContain('the disk is gone')
    isBroken = false
    other.file.write(second)
    await other.stop()
    expect((await start()).file.before).toEqual(second)
  })
})
