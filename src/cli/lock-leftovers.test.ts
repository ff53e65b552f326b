import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { takeLock } from './lock-file.ts'
import { removeLeftovers } from './lock-leftovers.ts'

let dir: string
let path: string
const servers: Server[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'causeway-lock-'))
  path = join(dir, 'edge.lock')
})
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
  rmSync(dir, { recursive: true })
})

const uuid = '01234567-89ab-4cde-8f01-23456789abcd'

/** As one that was killed has left it; its process id. */
async function deadSocket(name: string): Promise<number> {
  const script = `require('net').createServer().listen(${JSON.stringify(join(dir, name))}, () => process.kill(process.pid, 'SIGKILL'))`
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' })
  await once(child, 'exit')
  return child.pid ?? 0
}

function age(name: string): void {
  utimesSync(join(dir, name), 1, 1)
}

function write(name: string, text: string): void {
  writeFileSync(join(dir, name), text)
}

async function leftAfter(): Promise<string[]> {
  const lock = await takeLock(path)
  const { socket } = JSON.parse(readFileSync(path, 'utf8')) as { socket: string }
  await removeLeftovers(path)
  const left = readdirSync(dir).filter((name) => name !== socket && name !== 'edge.lock')
  lock.release()
  return left.toSorted()
}

describe('removeLeftovers', () => {
  it('removes the socket of one that was killed before it had the lock, or after it had let go of it', async () => {
    await deadSocket('lock-0000001')
    age('lock-0000001')
    expect(await leftAfter()).toEqual([])
    expect(readdirSync(dir)).toEqual([])
  })

  it('leaves sockets that somebody listens on, that may be about to, and that a lock of another role names', async () => {
    const server = createServer().listen(join(dir, 'lock-0000002'))
    servers.push(server)
    await once(server, 'listening')
    await deadSocket('lock-0000003')
    await deadSocket('lock-0000004')
    write('hub.lock', JSON.stringify({ pid: 1, host: 'elsewhere', birth: '', socket: 'lock-0000004' }))
    age('lock-0000002')
    age('lock-0000004')
    expect(await leftAfter()).toEqual(['hub.lock', 'lock-0000002', 'lock-0000003', 'lock-0000004'])
  })

  it('leaves what only looks like a socket, and everything else in the folder', async () => {
    for (const name of ['lock-0000005', 'lock-000000', 'edge.key', 'edge.lock.txt']) {
      write(name, '')
      age(name)
    }
    expect(await leftAfter()).toEqual(['edge.key', 'edge.lock.txt', 'lock-0000005', 'lock-000000'].toSorted())
  })

  it('removes the names that dead processes wrote aside, and leaves those of the living', async () => {
    const pid = await deadSocket('lock-0000006')
    const host = hostname()
    write(`edge.lock.${pid}.${uuid}`, JSON.stringify({ pid, host, birth: '', socket: 'lock-0000006' }))
    write(`edge.lock.takeover.${pid}.${uuid}`, '')
    age(`edge.lock.takeover.${pid}.${uuid}`)
    const alive = [`edge.lock.${process.ppid}.${uuid}`, `hub.lock.${pid}.${uuid}`]
    write(alive[0] as string, JSON.stringify({ pid: process.ppid, host, birth: '' }))
    write(alive[1] as string, JSON.stringify({ pid, host, birth: '' }))
    expect(await leftAfter()).toEqual([...alive, 'lock-0000006'].toSorted())
  })
})
