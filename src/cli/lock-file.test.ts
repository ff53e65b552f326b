import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LockHeldError, takeLock } from './lock-file.ts'
import { judge, ownIdentity } from './process-identity.ts'

let dir: string
let path: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-lock-'))
  path = join(dir, 'up.lock')
})
afterEach(() => rmSync(dir, { recursive: true }))

async function endedPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(child, 'exit')
  return child.pid ?? 0
}

function write(holder: object, at = path): void {
  writeFileSync(at, JSON.stringify({ host: hostname(), birth: '', ...holder }))
}

describe('takeLock', () => {
  it('names its holder in a file only the owner can read, and leaves nothing behind', () => {
    const lock = takeLock(path)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(dir)).toEqual(['up.lock'])
    lock.release()
    expect(readdirSync(dir)).toEqual([])
  })

  it('refuses a second holder, naming the first, and is free again after release', () => {
    const first = takeLock(path)
    expect(() => takeLock(path)).toThrow(new RegExp(`^it is in use by process ${process.pid}$`))
    expect(first.isHeld()).toBe(true)
    expect(readdirSync(dir)).toEqual(['up.lock'])
    first.release()
    takeLock(path).release()
  })

  it('succeeds a holder that is gone', async () => {
    write({ pid: await endedPid() })
    const lock = takeLock(path)
    expect(lock.isHeld()).toBe(true)
    expect(readdirSync(dir)).toEqual(['up.lock'])
  })

  it('succeeds a holder whose process id another process has now', () => {
    write({ pid: process.ppid, birth: 'another-boot/1' })
    expect(takeLock(path).isHeld()).toBe(true)
  })

  it('succeeds an earlier process that had the same id as this one, as in a restarted container', () => {
    write({ pid: process.pid, birth: 'another-boot/1' })
    expect(takeLock(path).isHeld()).toBe(true)
  })

  it.each(['', '{"pid":', '{}', '{"pid":-1,"host":"h","birth":""}', 'null'])(
    'succeeds a file that names nobody: %s',
    (text) => {
      writeFileSync(path, text)
      expect(takeLock(path).isHeld()).toBe(true)
    },
  )

  it('succeeds one that died while succeeding another', async () => {
    const pid = await endedPid()
    write({ pid })
    write({ pid }, `${path}.takeover`)
    expect(takeLock(path).isHeld()).toBe(true)
    expect(readdirSync(dir)).toEqual(['up.lock'])
  })

  it('leaves a dead lock to whoever is just succeeding it', async () => {
    write({ pid: await endedPid() })
    const dead = readFileSync(path, 'utf8')
    const other = takeLock(`${path}.takeover`)
    expect(() => takeLock(path)).toThrow(LockHeldError)
    expect(readFileSync(path, 'utf8')).toBe(dead)
    other.release()
  })

  it('does not judge a process on another machine', () => {
    write({ pid: 1, host: 'island-7' })
    expect(() => takeLock(path)).toThrow(`process 1 on island-7; if that machine is gone for good, remove ${path}`)
  })

  it.each<[string, () => unknown]>([
    ['a link, not a file', () => symlinkSync('/nonexistent/x', path)],
    ['a link, not a file', () => symlinkSync('elsewhere', path)],
    ['a folder, not a file', () => mkdirSync(path)],
    ['a pipe, a socket or a device, not a file', () => execFileSync('sh', ['-c', 'mkfifo up.lock'], { cwd: dir })],
  ])('refuses %s in its place, and leaves it there', (what, place) => {
    write({ pid: 1 }, join(dir, 'elsewhere'))
    place()
    expect(() => takeLock(path)).toThrow(`${path} is ${what}; remove it`)
    expect(readdirSync(dir)).toEqual(['elsewhere', 'up.lock'])
  })

  it('no longer holds a lock that became a folder', () => {
    const lock = takeLock(path)
    rmSync(path)
    mkdirSync(path)
    expect(lock.isHeld()).toBe(false)
    lock.release()
    expect(existsSync(path)).toBe(true)
  })

  it('notices that the file was removed or replaced, and then leaves it alone', () => {
    const lock = takeLock(path)
    rmSync(path)
    expect(lock.isHeld()).toBe(false)
    write({ pid: process.ppid })
    lock.release()
    expect(existsSync(path)).toBe(true)
  })
})

describe('judge', () => {
  it('knows this process and its parent, and one that ended', async () => {
    expect(judge(ownIdentity())).toBe('running')
    expect(judge({ pid: process.ppid, host: hostname(), birth: '' })).toBe('running')
    expect(judge({ pid: await endedPid(), host: hostname(), birth: '' })).toBe('gone')
  })

  it('takes its own id without a birth for that of an earlier process', () => {
    expect(judge({ pid: process.pid, host: hostname(), birth: '' })).toBe('gone')
  })
})
