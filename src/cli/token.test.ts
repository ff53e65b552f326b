import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { MAX_TOKEN_LIFE_MS } from '../hub/cluster/mint-token.ts'
import { MAX_TOKEN_USES } from '../hub/cluster/token-records.ts'
import { ManualClock } from '../runtime/clock.ts'
import { runProgram } from './program.ts'

/** There is no cluster to ask: what is wrong must come out before. */
async function create(...args: string[]): Promise<{ code: number; said: string }> {
  let said = ''
  const code = await runProgram(['token', 'create', '--kubeconfig', '/nowhere/kubeconfig', ...args], {
    environment: {},
    workingDir: '/nowhere',
    stdout: { write: (text) => (said += text), columns: 80 },
    stderr: { write: (text) => (said += text) },
    clock: new ManualClock(),
    signals: new EventEmitter(),
    exit: () => {
      throw new Error('must not exit')
    },
  })
  return { code, said }
}

describe('"token create" ends with 2 and says what can be', () => {
  it.each([
    ['--ttl', '400d', `1 second to ${MAX_TOKEN_LIFE_MS / 86_400_000} days`],
    ['--ttl', '0s', '1 second to'],
    ['--ttl', 'soon', 'a period such as'],
    ['--node', 'Bad_Name', 'Bad_Name'],
    ['--node', 'bad_*', 'no node name can match'],
    ['--uses', '5000', `a whole number from 1 to ${MAX_TOKEN_USES}`],
    ['--uses', '0', `a whole number from 1 to ${MAX_TOKEN_USES}`],
  ])('for %s %s', async (flag, value, wanted) => {
    const { code, said } = await create(flag, value)
    expect(code).toBe(2)
    expect(said).toContain(`${flag}: `)
    expect(said).toContain(wanted)
  })

  it('but has nothing to say against what can be, and goes on to the cluster', async () => {
    const { said } = await create('--ttl', '30d', '--node', 'edge-1', '--uses', String(MAX_TOKEN_USES))
    expect(said).toContain('/nowhere/kubeconfig')
    expect(said).not.toMatch(/--(ttl|node|uses): /)
  })
})
