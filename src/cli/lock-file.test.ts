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
import { judge, ownIdentity, type ProcessIdentity, type Surroundings, surroundings } from './process-identity.ts'

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

/** Without the sockets on which holders listen. */
function lockFiles(): string[] {
  return readdirSync(dir).filter((name) => !/^lock-[0-9a-f]{7}$/.test(name))
}

function write(holder: object, at = path): void {
  writeFileSync(at, JSON.stringify({ host: hostname(), birth: '', ...holder }))
}

describe('takeLock', () => {
  it('names its holder in a file only the owner can read, and leaves nothing behind', async () => {
    const lock = await takeLock(path)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid })
    const modes = readdirSync(dir).map((name) => statSync(join(dir, name)).mode & 0o777)
    expect(modes).toEqual([0o600, 0o600])
    expect(lockFiles()).toEqual(['up.lock'])
    lock.release()
    expect(readdirSync(dir)).toEqual([])
  })

  it('refuses a second holder, naming the first, and is free again after release', async () => {
    const first = await takeLock(path)
    await expect(takeLock(path)).rejects.toThrow(
      new RegExp(`^it is in use by process ${process.pid}; stop that one first, or .*--data-dir$`),
    )
    expect(first.isHeld()).toBe(true)
    expect(lockFiles()).toEqual(['up.lock'])
    first.release()
    ;(await takeLock(path)).release()
  })

  it('succeeds a holder that is gone', async () => {
    write({ pid: await endedPid() })
    const lock = await takeLock(path)
    expect(lock.isHeld()).toBe(true)
    expect(lockFiles()).toEqual(['up.lock'])
  })

  it('succeeds a holder whose process id another process has now', async () => {
    write({ pid: process.ppid, birth: 'another-boot/1' })
    expect((await takeLock(path)).isHeld()).toBe(true)
  })

  it('succeeds an earlier process that had the same id as this one, as in a restarted container', async () => {
    write({ pid: process.pid, birth: 'another-boot/1' })
    expect((await takeLock(path)).isHeld()).toBe(true)
  })

  it.each(['', '{"pid":', '{}', '{"pid":-1,"host":"h","birth":""}', 'null'])(
    'succeeds a file that names nobody: %s',
    async (text) => {
      writeFileSync(path, text)
      expect((await takeLock(path)).isHeld()).toBe(true)
    },
  )

  it('succeeds one that died while succeeding another', async () => {
    const pid = await endedPid()
    write({ pid })
    write({ pid }, `${path}.takeover`)
    expect((await takeLock(path)).isHeld()).toBe(true)
    expect(lockFiles()).toEqual(['up.lock'])
  })

  it('leaves a dead lock to whoever is just succeeding it', async () => {
    write({ pid: await endedPid() })
    const dead = readFileSync(path, 'utf8')
    const other = await takeLock(`${path}.takeover`)
    await expect(takeLock(path)).rejects.toThrow(LockHeldError)
    expect(readFileSync(path, 'utf8')).toBe(dead)
    other.release()
  })

  it('does not judge a process on another machine where nothing tells the kernels apart', async () => {
    write({ pid: 1, host: 'island-7' })
    await expect(takeLock(path)).rejects.toThrow(
      `process 1 on island-7, which cannot be seen from here; if that machine or container is gone for good, remove ${path}`,
    )
  })

  it('takes away the socket of the holder that it succeeds, and its own when it ends', async () => {
    write({ pid: await endedPid(), socket: 'lock-0000000' })
    writeFileSync(join(dir, 'lock-0000000'), '')
    const lock = await takeLock(path)
    const { socket } = JSON.parse(readFileSync(path, 'utf8')) as { socket: string }
    expect(readdirSync(dir).toSorted()).toEqual([socket, 'up.lock'])
    lock.release()
    expect(readdirSync(dir)).toEqual([])
  })

  it('does not follow a socket out of the folder', async () => {
    const outside = join(dir, 'outside')
    writeFileSync(outside, '')
    mkdirSync(join(dir, 'data'))
    write({ pid: await endedPid(), socket: '../outside' }, join(dir, 'data', 'up.lock'))
    await takeLock(join(dir, 'data', 'up.lock'))
    expect(existsSync(outside)).toBe(true)
  })

  it.each<[string, () => unknown]>([
    ['a link, not a file', () => symlinkSync('/nonexistent/x', path)],
    ['a link, not a file', () => symlinkSync('elsewhere', path)],
    ['a folder, not a file', () => mkdirSync(path)],
    ['a pipe, a socket or a device, not a file', () => execFileSync('sh', ['-c', 'mkfifo up.lock'], { cwd: dir })],
  ])('refuses %s in its place, and leaves it there', async (what, place) => {
    write({ pid: 1 }, join(dir, 'elsewhere'))
    place()
    await expect(takeLock(path)).rejects.toThrow(`${path} is ${what}; remove it`)
    expect(readdirSync(dir)).toEqual(['elsewhere', 'up.lock'])
  })

  it('no longer holds a lock that became a folder', async () => {
    const lock = await takeLock(path)
    rmSync(path)
    mkdirSync(path)
    expect(lock.isHeld()).toBe(false)
    lock.release()
    expect(existsSync(path)).toBe(true)
  })

  it('notices that the file was removed or replaced, and then leaves it alone', async () => {
    const lock = await takeLock(path)
    rmSync(path)
    expect(lock.isHeld()).toBe(false)
    write({ pid: process.ppid })
    lock.release()
    expect(existsSync(path)).toBe(true)
  })
})

describe('judge', () => {
  const local = surroundings(true)
  const shared: Surroundings = { ...local, isLocalFolder: false }
  const formerBoot = 'another-boot/1'
  const thisBoot = (ticks: number): string => `${local.boot}/${ticks}`

  it('knows this process and its parent, and one that ended', async () => {
    expect(await judge(ownIdentity(), local)).toBe('running')
    expect(await judge({ pid: process.ppid, host: hostname(), birth: '' }, local)).toBe('running')
    expect(await judge({ pid: await endedPid(), host: hostname(), birth: '' }, local)).toBe('gone')
  })

  it('takes its own id without a birth for that of an earlier process', async () => {
    expect(await judge({ pid: process.pid, host: hostname(), birth: '' }, local)).toBe('gone')
  })

  it.each<[string, Partial<ProcessIdentity>, Surroundings, string]>([
    ['before a reboot, under another name', { host: 'pod-a', birth: formerBoot }, local, 'gone'],
    ['before a reboot, on a folder of the network', { birth: formerBoot }, shared, 'gone'],
    ['on another machine, on a folder of the network', { host: 'pod-a', birth: formerBoot }, shared, 'elsewhere'],
    ['on this kernel, under another name, without a socket', { host: 'pod-a', birth: thisBoot(1) }, local, 'elsewhere'],
    ['in another pid namespace, without a socket', { birth: thisBoot(1), pidNamespace: 'pid:[1]' }, local, 'elsewhere'],
    ['in this pid namespace, under another name', { ...ownIdentity(), host: 'pod-a' }, local, 'running'],
  ])('judges one that wrote %s', async (_where, changed, here, verdict) => {
    expect(await judge({ pid: process.ppid, host: hostname(), birth: '', ...changed }, here)).toBe(verdict)
  })
})
