/** What goes wrong between a cloud and its edge, one thing at a time, each over when its promise is. */
import { systemClock } from '../../src/runtime/clock.ts'
import type { ChaosWorld } from './chaos-world.ts'
import type { Dice } from './dice.ts'

type Disturbance = (world: ChaosWorld, dice: Dice) => Promise<void>

const shortCut: Disturbance = async (world, dice) => {
  world.cut()
  await systemClock.sleep(dice.between(50, 1_500))
  world.restore()
}

/** Longer than it takes the edge to notice. */
const longCut: Disturbance = async (world, dice) => {
  world.cut()
  await systemClock.sleep(dice.between(6_000, 20_000))
  world.restore()
}

/** What happened while the edge was away cannot be watched any more when it is back. */
const compactedCut: Disturbance = async (world, dice) => {
  world.cut()
  await systemClock.sleep(dice.between(4_000, 8_000))
  await world.compact()
  world.restore()
}

const slowLink: Disturbance = async (world, dice) => {
  world.restore(dice.between(10, 300))
  await systemClock.sleep(dice.between(500, 3_000))
  world.restore()
}

const compaction: Disturbance = (world) => world.compact()
const apiRestart: Disturbance = (world, dice) => world.restartApi(dice.between(0, 2_000))
const hubRestart: Disturbance = (world, dice) => world.restartHub(dice.between(0, 2_000))
const edgeKill: Disturbance = (world, dice) => world.killEdge(dice.between(0, 500))

const all = {
  'short cut': { weight: 5, run: shortCut },
  'long cut': { weight: 1, run: longCut },
  'compacted cut': { weight: 4, run: compactedCut },
  'slow link': { weight: 3, run: slowLink },
  compaction: { weight: 3, run: compaction },
  'API server restart': { weight: 3, run: apiRestart },
  'hub restart': { weight: 2, run: hubRestart },
  'edge killed': { weight: 1, run: edgeKill },
} as const

export type DisturbanceName = keyof typeof all

/** Draws one of those that are wanted, and sees it through. */
export async function disturb(
  world: ChaosWorld,
  dice: Dice,
  isWanted: (name: DisturbanceName) => boolean,
  begins: (name: DisturbanceName) => void,
): Promise<void> {
  const names = (Object.keys(all) as DisturbanceName[]).filter(isWanted)
  const drawn = dice.pick(names.flatMap((name) => Array.from({ length: all[name].weight }, () => name)))
  begins(drawn)
  await all[drawn].run(world, dice)
}
