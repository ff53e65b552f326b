/** kill -9 at any time, and disks that are full: what was flushed is there, and no feed by halves. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { statfsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MIN_FREE_DISK_BYTES } from '../../../src/edge/keeping/written-file.ts'
import { removeFolder } from '../../remove-folder.ts'
import { FeedTwin, type FeedView, KeepingOwner, makeDataDir, randomStep, seeded } from '../../worlds/keeping-world.ts'

const CHILD = fileURLToPath(new URL('./keeping-child.ts', import.meta.url))
const children: ChildProcess[] = []
let dataDir = ''

beforeEach(() => {
  dataDir = makeDataDir()
})
afterEach(async () => {
  await Promise.all(children.splice(0).map(kill))
  removeFolder(dataDir)
})

interface Life {
  readonly lastTold: number
  readonly lastFlushed: number
  readonly lastLine: string
}

/** Lets a child live until it has said so many lines, or ends by itself. */
async function live(seed: number, firstStep: number, lines: number, maxFileKib?: number): Promise<Life> {
  const command = [process.execPath, '--import', 'tsx', CHILD, dataDir, `${seed}`, `${firstStep}`]
  const limited = ['bash', '-c', `ulimit -f ${maxFileKib}; exec "$@"`, 'limited', ...command]
  const [program = '', ...words] = maxFileKib === undefined ? command : limited
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(child)
  let output = ''
  const said = new Promise<void>((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.split('\n').length > lines) resolve()
    })
  })
  const closed = once(child, 'close')
  await Promise.race([said, closed])
  await kill(child)
  await closed
  const all = output.split('\n').slice(0, -1)
  const last = (word: string): number =>
    Number(all.findLast((line) => line.startsWith(`${word} `))?.split(' ')[1] ?? firstStep - 1)
  return { lastTold: last('told'), lastFlushed: last('flushed'), lastLine: all.at(-1) ?? '' }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Holds what a start finds against the same life without a disk, from `base` on. */
async function expectFound(base: FeedTwin, seed: number, firstStep: number, life: Life): Promise<KeepingOwner> {
  const states: Record<string, FeedView>[] = []
  const random = seeded(seed)
  const remember = (step: number): void => {
    if (step >= life.lastFlushed) states.push(base.view())
  }
  remember(firstStep - 1)
  for (let step = firstStep; step <= life.lastTold; step++) {
    randomStep(base, random, step)
    remember(step)
  }
  const owner = await KeepingOwner.start(dataDir)
  expect(owner.keeping.status.quarantined - orphansOf(owner)).toBe(0)
  expect(owner.loaded.filter(({ isComplete }) => !isComplete)).toEqual([])
  const found = owner.view()
  const keys = new Set([found, ...states].flatMap((state) => Object.keys(state)))
  for (const key of keys) expect(states.map((state) => state[key])).toContainEqual(found[key])
  await owner.keeping.close()
  return owner
}

/** Entries of a writing that was not completed are nobody's; they are left behind as well, and are no damage. */
function orphansOf(owner: KeepingOwner): number {
  expect(owner.logged('damaged')).toBe(false)
  return owner.keeping.status.quarantined
}

function twinOf(owner: KeepingOwner): FeedTwin {
  const twin = new FeedTwin()
  for (const [key, feed] of owner.feeds) twin.feeds.set(key, { ...feed, entries: new Map(feed.entries) })
  return twin
}

describe('keeping survives', () => {
  it('kill -9 at any time, again and again', async () => {
    let twin = new FeedTwin()
    let firstStep = 1
    let flushed = 0
    for (const [seed, lines] of [3, 40, 8, 150, 1, 61, 20, 7, 97, 12].entries()) {
      const life = await live(seed, firstStep, lines)
      const owner = await expectFound(twin, seed, firstStep, life)
      twin = twinOf(owner)
      if (life.lastFlushed >= firstStep) flushed++
      firstStep = life.lastTold + 1
    }
    expect(flushed).toBeGreaterThan(4)
  })

  it('a file that may not grow: keeping ends, the process does not', async () => {
    const life = await live(1, 1, Number.POSITIVE_INFINITY, 1_500)
    expect(life.lastLine).toMatch(/^off /)
    expect(life.lastFlushed).toBeGreaterThan(0)
    await expectFound(new FeedTwin(), 1, 1, life)
  })

  it('a small disk that gets full', async ({ skip }) => {
    const mounted = tmpfs()
    if (!mounted) skip('no right to mount a file system')
    try {
      const life = await live(1, 1, Number.POSITIVE_INFINITY)
      expect(life.lastLine).toMatch(/^off .* MiB left/)
      const { bavail, bsize } = statfsSync(dataDir)
      expect(bavail * bsize).toBeGreaterThan(MIN_FREE_DISK_BYTES / 2)
      await expectFound(new FeedTwin(), 1, 1, life)
    } finally {
      execFileSync('umount', [dataDir])
    }
  })
})

/** Puts a disk with less than a MiB more than is left free in the place of the data folder. */
function tmpfs(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${MIN_FREE_DISK_BYTES + 700_000}`, 'tmpfs', dataDir], {
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
}
