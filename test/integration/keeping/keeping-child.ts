/**
 * A process that lives at random until it is killed: `keeping-child.ts DATA_DIR SEED FIRST_STEP`. It says `told N` before it
 * tells its keeping of step N, and `flushed N` when all up to there is on disk. The same seed makes the same steps.
 */
import { writeSync } from 'node:fs'
import { systemClock } from '../../../src/runtime/clock.ts'
import { nextTurn } from '../../../src/runtime/turns.ts'
import { KeepingOwner, randomStep, seeded } from '../../worlds/keeping-world.ts'

const STANDARD_OUTPUT = 1
const [dataDir = '', seed = '', first = ''] = process.argv.slice(2)
const owner = await KeepingOwner.start(dataDir, {}, systemClock)
const random = seeded(Number(seed))
const say = (line: string): void => void writeSync(STANDARD_OUTPUT, `${line}\n`)

for (let step = Number(first); ; step++) {
  say(`told ${step}`)
  randomStep(owner, random, step)
  await nextTurn()
  if (step % 5 !== 0) continue
  await owner.keeping.flushed()
  say(owner.keeping.status.isOn ? `flushed ${step}` : `off ${owner.keeping.status.problem}`)
  if (!owner.keeping.status.isOn) break
}
