import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { listenOnUnixSocket } from './unix-socket.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-socket-'))
  path = join(folder, 'front.sock')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
})

function server(): Server {
  const made = createServer((socket) => socket.on('error', () => {}).end('hello'))
  onTestFinished(() => void made.close())
  return made
}

/** What a process leaves behind that was killed. */
function leaveSocketBehind(): void {
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  expect(() => execFileSync(process.execPath, ['-e', script])).toThrow()
  expect(statSync(path).isSocket()).toBe(true)
}

const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8)

describe('a unix socket', () => {
  it('is served, is for its owner alone, and is taken away', async () => {
    const remove = await listenOnUnixSocket(server(), { path })
    expect([modeOf(path), readdirSync(folder)]).toEqual(['600', ['front.sock']])
    const client = connect(path)
    expect(String((await once(client, 'data'))[0])).toBe('hello')
    await remove()
    expect(existsSync(path)).toBe(false)
  })

  it('may be for a group too', async () => {
    const groupId = process.getgid?.() ?? 0
    await listenOnUnixSocket(server(), { path, groupId })
    expect([modeOf(path), statSync(path).gid]).toEqual(['660', groupId])
  })

  it('replaces one that nobody serves', async () => {
    leaveSocketBehind()
    await listenOnUnixSocket(server(), { path })
    const client = connect(path)
    expect(String((await once(client, 'data'))[0])).toBe('hello')
  })

  it('does not replace one that is served', async () => {
    const remove = await listenOnUnixSocket(server(), { path })
    await expect(listenOnUnixSocket(server(), { path })).rejects.toThrow(
      `cannot listen on ${path}: another process already listens there`,
    )
    expect(existsSync(path)).toBe(true)
    await remove()
  })

  it('does not replace what is not a socket', async () => {
    writeFileSync(path, 'precious')
    await expect(listenOnUnixSocket(server(), { path })).rejects.toThrow('something that is not a socket; remove it')
    expect(statSync(path).size).toBe(8)
  })

  it('is left to who has taken its place since', async () => {
    const remove = await listenOnUnixSocket(server(), { path })
    rmSync(path)
    await listenOnUnixSocket(server(), { path })
    await remove()
    expect(existsSync(path)).toBe(true)
  })

  it('needs a path that is short enough, and a folder', async () => {
    const long = join(folder, 'x'.repeat(100))
    await expect(listenOnUnixSocket(server(), { path: long })).rejects.toThrow(
      `the path ${long} is too long for a socket`,
    )
    const nowhere = join(folder, 'none', 'front.sock')
    await expect(listenOnUnixSocket(server(), { path: nowhere })).rejects.toThrow(
      `cannot listen on ${nowhere}: there is no folder ${join(folder, 'none')}; make it first`,
    )
    expect(readdirSync(folder)).toEqual([])
  })
})
