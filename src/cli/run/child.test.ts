import { EventEmitter } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exitCodeOf, isForegroundGroup, ProgramEnded, SignalRelay } from './child.ts'

let signals: EventEmitter
let isInForeground: boolean
let folder: string
let relay: SignalRelay

beforeEach(() => {
  signals = new EventEmitter()
  isInForeground = false
  folder = mkdtempSync(join(tmpdir(), 'causeway-child-'))
  relay = new SignalRelay(signals, () => isInForeground)
})
afterEach(() => rmSync(folder, { recursive: true }))

async function run(script: string): Promise<number> {
  return await relay.run([process.execPath, '-e', script], process.env, folder)
}

/** Says by a file that it listens to the signal; then waits for it. */
async function started(script: string): Promise<{ code: Promise<number> }> {
  const waits = "require('fs').writeFileSync('ready', ''); setInterval(() => {}, 1000)"
  const code = run(`${script};${waits}`)
  while (!existsSync(join(folder, 'ready'))) await new Promise((resolve) => setImmediate(resolve))
  return { code }
}

describe('a program in our place', () => {
  it('ends with its own code, or with that of a signal', async () => {
    expect(await run('process.exit(7)')).toBe(7)
    expect(await run("process.kill(process.pid, 'SIGKILL')")).toBe(137)
    expect([exitCodeOf(0, null), exitCodeOf(null, 'SIGTERM')]).toEqual([0, 143])
  })

  it('gets the signals that are sent to us', async () => {
    const { code } = await started("process.on('SIGUSR2', () => process.exit(3))")
    signals.emit('SIGUSR2', 'SIGUSR2')
    expect(await code).toBe(3)
  })

  it('ends by a signal it does not handle', async () => {
    const { code } = await started('')
    signals.emit('SIGTERM', 'SIGTERM')
    expect(await code).toBe(143)
  })

  it('gets Ctrl-C from its terminal only, and from us where it has none', async () => {
    const { code } = await started(
      "process.on('SIGINT', () => process.exit(4)); process.on('SIGUSR1', () => process.exit(5))",
    )
    isInForeground = true
    signals.emit('SIGINT', 'SIGINT')
    signals.emit('SIGUSR1', 'SIGUSR1')
    expect(await code).toBe(5)
    rmSync(join(folder, 'ready'))
    const again = await started("process.on('SIGINT', () => process.exit(4))")
    isInForeground = false
    signals.emit('SIGINT', 'SIGINT')
    expect(await again.code).toBe(4)
  })

  it('is not started any more after a signal to end', async () => {
    signals.emit('SIGWINCH', 'SIGWINCH')
    expect(relay.signal.aborted).toBe(false)
    signals.emit('SIGINT', 'SIGINT')
    expect(relay.signal.reason).toBeInstanceOf(ProgramEnded)
    await expect(run('')).rejects.toMatchObject({ exitCode: 130 })
  })

  it('leaves no listener behind', () => {
    relay.release()
    expect(signals.eventNames()).toEqual([])
  })

  it('that cannot be started is an error with its name', async () => {
    await expect(relay.run(['/nonexistent/x'], {}, folder)).rejects.toThrow('/nonexistent/x could not be started')
  })
})

describe('the terminal', () => {
  it.each([
    ['123 (node) S 1 123 123 34816 123 4194304', true],
    ['123 (a) b (c) S 1 123 123 34816 99 4194304', false],
    ['123 (node) S 1 123 123 0 -1 4194304', false],
    ['', false],
  ])('%s', (stat, expected) => {
    expect(isForegroundGroup(stat)).toBe(expected)
  })
})
