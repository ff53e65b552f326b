/**
 * What people type every day, typed at a real kube-apiserver and at ours: kubectl must print the same and end the same.
 * `kubectl-twin/commands.txt` has the commands, `known-differences.txt` those that are known to differ, and why; one that
 * does not differ any more must leave that list.
 */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'
import { type OwnServer, startOwnServer } from './kubectl-twin/own-server.ts'
import { type Outcome, parseGroups, runGroup } from './kubectl-twin/twin.ts'

const read = (name: string): string => readFileSync(new URL(`kubectl-twin/${name}`, import.meta.url), 'utf8')
const groups = parseGroups(read('commands.txt'))
/** Each of its dozens of commands is a process, twice. */
const groupTimeoutMs = 600_000
const known = new Set(parseGroups(read('known-differences.txt')).flatMap(({ lines }) => lines))

describeReal('kubectl against both servers', () => {
  let real: ControlPlane
  let own: OwnServer

  beforeAll(async () => {
    real = await startControlPlane()
    own = await startOwnServer(real)
  })
  afterAll(async () => {
    await own?.stop()
    await real?.stop()
  })

  it.each(groups)('$name', { timeout: groupTimeoutMs }, async (group) => {
    const [wanted, got] = await Promise.all([runGroup(group, real.kubeconfigFile), runGroup(group, own.kubeconfigFile)])
    const differs = (outcome: Outcome, index: number): boolean => !isDeepStrictEqual(outcome, wanted[index])
    const isNew = (outcome: Outcome, index: number): boolean => differs(outcome, index) && !known.has(outcome.line)
    expect(got.filter(isNew)).toEqual(wanted.filter((_, index) => got[index] && isNew(got[index], index)))
    const differing = new Set(got.filter(differs).map(({ line }) => line))
    expect(group.lines.filter((line) => known.has(line) && !differing.has(line))).toEqual([])
  })

  it('knows no differences of commands that nobody runs', () => {
    const lines = new Set(groups.flatMap((group) => group.lines))
    expect([...known].filter((line) => !lines.has(line))).toEqual([])
  })
}, ['etcd', 'kube-apiserver', 'kubectl'])
