import fs, {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DATA_DIR_MODE, DataDir } from './data-dir.ts'

/** A test cannot mount a read-only file system: one call fails as it would there, and the next one works again. */
function failOnce(call: 'accessSync' | 'mkdirSync', code: string): void {
  const error = Object.assign(new Error(`${code}: as the kernel says it`), { code })
  const mock = vi.spyOn(fs, call).mockImplementationOnce(() => {
    mock.mockRestore()
    syncBuiltinESMExports()
    throw error
  })
  syncBuiltinESMExports()
}

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
      `cannot use the data folder ${dir}: it is in use by process ${process.pid}; stop that one first`,
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
    const link = join(dir, 'link')
    symlinkSync('nowhere', link)
    await expect(new DataDir(link, 'up').start()).rejects.toThrow(`${link} is a link that leads nowhere`)
    const locked = join(dir, 'locked')
    mkdirSync(join(locked, 'up.lock'), { recursive: true, mode: DATA_DIR_MODE })
    await expect(new DataDir(locked, 'up').start()).rejects.toThrow(
      `cannot use the data folder ${locked}: ${join(locked, 'up.lock')} is a folder, not a file; remove it`,
    )
    const open = join(dir, 'open')
    mkdirSync(open)
    chmodSync(open, 0o777)
    await expect(new DataDir(open, 'up').start()).rejects.toThrow(
      'everybody may write there; choose a folder that only you can write to',
    )
  })

  it.each([
    ['EROFS', 'the file system is read-only'],
    ['EACCES', 'this user may not write there'],
  ])('explains %s for a folder that is there and for one that is not', async (code, reason) => {
    failOnce('accessSync', code)
    await expect(new DataDir(dir, 'up').start()).rejects.toThrow(`cannot use the data folder ${dir}: ${reason}`)
    const path = join(dir, 'new')
    failOnce('mkdirSync', code)
    await expect(new DataDir(path, 'up').start()).rejects.toThrow(`cannot use the data folder ${path}: ${reason}`)
  })

  it('refuses a path that leaves no room for the control socket, and makes nothing', async () => {
    const path = join(dir, 'x'.repeat(100))
    await expect(new DataDir(path, 'edge').start()).rejects.toThrow(
      'bytes a socket may have; choose a shorter --data-dir',
    )
    expect(readdirSync(dir)).toEqual([])
    await (await new DataDir(path, 'apiserver', { hasControlSocket: false }).start()).stop(never)
  })

  it('gives up on a place where nothing can be made', async () => {
    await expect(new DataDir('/proc/causeway', 'up').start()).rejects.toThrow(
      /^cannot use the data folder \/proc\/causeway: /,
    )
  })
})
