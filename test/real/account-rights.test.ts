/** A pod with the token of its account against both servers, and tokens that are none. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { ACCOUNT_ATTACKS, ACCOUNT_TOKEN_PATH, ACCOUNT_WORLD } from '../attack/account-attacks.ts'
import { TEAM } from '../attack/node-attack.ts'
import { forgedTokens, type KnownKey } from '../worlds/forged-tokens.ts'
import { describeReal } from './harness.ts'
import { differencesOf } from './twin-attacks.ts'
import { startTwins, type TwinName, type Twins } from './twins.ts'

const settleMs = 60_000

describeReal('a pod with the token of its account', () => {
  let twins: Twins
  const tokens: Record<TwinName, string> = { real: '', ours: '' }

  function bearer(token: string): readonly (readonly [string, string])[] {
    return [['authorization', `Bearer ${token}`]]
  }

  beforeAll(async () => {
    twins = await startTwins([])
    for (const [path, object] of ACCOUNT_WORLD) await twins.create(path, object)
    const made = await twins.create(ACCOUNT_TOKEN_PATH, { spec: {} })
    for (const twin of ['real', 'ours'] as const) {
      tokens[twin] = (made[twin]['status'] as { token: string }).token
      // A server believes in a role a moment after it was made.
      const asked = { method: 'GET', target: `${TEAM}/secrets/mine`, headers: bearer(tokens[twin]) }
      const ask = async (): Promise<void> => expect(await twins.ask(twin, asked)).toMatchObject({ status: 200 })
      await vi.waitFor(ask, { timeout: settleMs, interval: 50 })
    }
  })

  afterAll(() => twins?.stop())

  it('gets as far with both', async () => {
    const attacks = { real: ACCOUNT_ATTACKS, ours: ACCOUNT_ATTACKS }
    const differences = await differencesOf(twins, attacks, (twin) => ({ headers: bearer(tokens[twin]) }))
    expect(differences.join('\n')).toBe('')
  })

  it('is believed by neither with a forged one', async () => {
    for (const twin of ['real', 'ours'] as const) {
      const accept = [['accept', 'application/jwk-set+json']] as const
      const { text } = await twins.ask(twin, { method: 'GET', target: '/openid/v1/jwks', by: 'admin', headers: accept })
      const { keys } = JSON.parse(text) as { keys: KnownKey[] }
      for (const [what, token] of forgedTokens(tokens[twin], keys[0] ?? {})) {
        const asked = { method: 'GET', target: `${TEAM}/secrets/mine`, headers: bearer(token) }
        expect([twin, what, (await twins.ask(twin, asked)).status]).toEqual([twin, what, 401])
      }
    }
  })
})
