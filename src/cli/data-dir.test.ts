import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DATA_DIR_MODE, DataDir } from './data-dir.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-data-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const never = new AbortController().signal

describe('DataDir', () => {
  it('makes the folder, with parents, for its owner only', async () => {
    const path = join(dir, 'a', 'b')
    const running = await new DataDir(path, 'up').start()
    expect(statSync(path).mode & 0o777).toBe(DATA_DIR_MODE)
    await running.stop(never)
  })

  it('lets one process of a role in, and another role beside it', async () => {
    const running = await new DataDir(dir, 'up').start()
    await expect(new DataDir(dir, 'up').start()).rejects.toThrow(
      `cannot use the data folder ${dir}: it is in use by process ${process.pid}`,
    )
    const beside = await new DataDir(dir, 'edge').start()
    await beside.stop(never)
    await running.stop(never)
    await (await new DataDir(dir, 'up').start()).stop(never)
  })

  it('is healthy while it holds its lock', async () => {
    const dataDir = new DataDir(dir, 'up')
    expect(dataDir.health().ok).toBe(false)
    const running = await dataDir.start()
    expect(dataDir.health()).toEqual({ ok: true })
    rmSync(join(dir, 'up.lock'))
    expect(dataDir.health()).toEqual({ ok: false, reason: `${join(dir, 'up.lock')} is gone or was replaced` })
    await running.stop(never)
  })

  it('says precisely why a folder cannot be used', async () => {
    const file = join(dir, 'file')
    writeFileSync(file, '')
    await expect(new DataDir(file, 'up').start()).rejects.toThrow('it is a file, not a folder')
    await expect(new DataDir(join(file, 'x'), 'up').start()).rejects.toThrow('a part of the path is a file')
    const open = join(dir, 'open')
    mkdirSync(open)
    chmodSync(open, 0o777)
    await expect(new DataDir(open, 'up').start()).rejects.toThrow(
      'everybody may write there; choose a folder that only you can write to',
    )
  })
})
