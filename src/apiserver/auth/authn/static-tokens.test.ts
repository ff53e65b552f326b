import { describe, expect, it } from 'vitest'
import { StaticTokens } from './static-tokens.ts'

describe('StaticTokens', () => {
  it('knows users, ids and groups, quoted or not', () => {
    const tokens = new StaticTokens('a,alice,1,"g1, g2"\r\n\nb,bob,2\nc,carol,3,g\n', 't.csv')
    expect(tokens.userOf('a')).toEqual({ name: 'alice', uid: '1', groups: ['g1', 'g2'], extra: {} })
    expect(tokens.userOf('b')).toEqual({ name: 'bob', uid: '2', groups: [], extra: {} })
    expect(tokens.userOf('c')?.groups).toEqual(['g'])
    expect(tokens.userOf('d')).toBeUndefined()
  })

  it.each(['a,alice', 'a,,1', ',alice,1'])('refuses %s, by its line and without repeating it', (line) => {
    const message = 't.csv line 2: expected token,user,uid and optionally groups'
    expect(() => new StaticTokens(`x,y,z\n${line}\n`, 't.csv')).toThrow(message)
  })
})
