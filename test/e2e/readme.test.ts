/** Runs the tour of the README as a reader would, and compares what it prints with what the README shows. */
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { removeFolder } from '../remove-folder.ts'
import { patience } from './harness.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const leftovers = ['/tmp/causeway-tour', '/tmp/causeway-tour.log']

/** Steps that only look. What they see follows what was done before within a moment, in which a reader reads. */
const looks = /\bcurl\b|^grep\b|\bcauseway (nodes --data-dir|run|edge feeds) /

interface Step {
  readonly command: string
  /** `...` stands for anything: as a line for any lines, within a line for any characters. */
  readonly shown: readonly string[]
}

function readTour(): Step[] {
  const blocks = readFileSync(`${root}README.md`, 'utf8').matchAll(/^```console\n([\s\S]*?)^```$/gm)
  return [...blocks].flatMap(([, text = '']) =>
    text
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = '', ...shown] = step.trimEnd().split('\n')
        return { command, shown }
      }),
  )
}

function pattern(shown: readonly string[]): RegExp {
  const lines = shown.map((line) =>
    line.trim() === '...' ? '(?:.*\\n)*?' : `${line.split('...').map(quote).join('.*')} *\\n`,
  )
  return new RegExp(`^${lines.join('')}$`)
}

function quote(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(/ +/g, ' +')
}

class Shell {
  /** With the exit code. */
  readonly exited: Promise<number | null>
  readonly #child: ChildProcess
  readonly #printed = new EventEmitter()
  #output = ''

  constructor(command: string) {
    const environment = Object.entries(process.env).filter(([name]) => !name.startsWith('CAUSEWAY_'))
    this.#child = spawn('bash', ['-c', command], { cwd: root, detached: true, env: Object.fromEntries(environment) })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text
        this.#printed.emit('output')
      })
    }
    this.exited = once(this.#child, 'close').then(([code]) => code as number | null)
  }

  /** npm's own remarks about its configuration are not part of the tour. */
  get output(): string {
    return this.#output.replace(/^npm warn .*\n/gm, '')
  }

  async printed(expected: RegExp): Promise<void> {
    const ended = this.exited.then(() => 'ended')
    while (!expected.test(this.output)) {
      if ((await Promise.race([once(this.#printed, 'output'), ended])) === 'ended') break
    }
    expect(this.output).toMatch(expected)
  }

  end(): void {
    if (this.#child.pid !== undefined && this.#child.exitCode === null) process.kill(-this.#child.pid, 'SIGTERM')
  }
}

async function outputOf(command: string): Promise<string> {
  const shell = new Shell(command)
  await shell.exited
  return shell.output
}

describe('the tour of the README', () => {
  const background: Shell[] = []

  afterAll(async () => {
    for (const shell of background) {
      shell.end()
      await shell.exited
    }
    for (const path of leftovers) removeFolder(path)
  })

  const tour = readTour()

  it('has steps', () => {
    expect(tour.length).toBeGreaterThan(4)
  })

  it.each(tour)('$command', async ({ command, shown }) => {
    if (command.endsWith(' &')) {
      const shell = new Shell(`exec ${command.slice(0, -2)}`)
      background.push(shell)
      await shell.printed(pattern(shown))
    } else if (looks.test(command)) {
      await vi.waitFor(async () => expect(await outputOf(command)).toMatch(pattern(shown)), patience)
    } else {
      expect(await outputOf(command)).toMatch(pattern(shown))
    }
    if (command.startsWith('kill ')) {
      expect(await Promise.all(background.map(({ exited }) => exited))).toEqual(background.map(() => 0))
    }
  })

  it('leaves nothing behind', () => {
    expect(leftovers.filter((path) => existsSync(path))).toEqual([])
  })
})
