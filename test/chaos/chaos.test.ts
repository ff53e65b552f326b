/**
 * `npm run test:chaos` runs this for minutes, CAUSEWAY_CHAOS_SECONDS for as long as you like; CAUSEWAY_CHAOS_SEED repeats what was
 * drawn, if not when it happened. CAUSEWAY_CHAOS_KILLS=0 leaves the process of the edge alive.
 */
import { randomInt } from 'node:crypto'
import { afterAll, expect, it } from 'vitest'
import { endAll } from '../e2e/harness.ts'
import { runChaos } from './run-chaos.ts'

const seconds = Number(process.env['CAUSEWAY_CHAOS_SECONDS'] ?? 20)
const seed = Number(process.env['CAUSEWAY_CHAOS_SEED'] ?? randomInt(2 ** 31))
const kills = process.env['CAUSEWAY_CHAOS_KILLS'] !== '0'

afterAll(endAll)

it(
  'every reader ends up with what the API server has, and is told nothing that it would not say',
  async () => {
    const say = (line: string): void => console.info(`chaos: ${line}`)
    say(`CAUSEWAY_CHAOS_SEED=${seed}`)
    const { problems, totals } = await runChaos({ seed, seconds, kills, say })
    say(JSON.stringify(totals))
    expect(problems, `CAUSEWAY_CHAOS_SEED=${seed}`).toEqual([])
  },
  seconds * 1000 + 600_000,
)
