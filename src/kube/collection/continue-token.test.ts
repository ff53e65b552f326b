import { describe, expect, it } from 'vitest'
import { formatContinueToken, parseContinueToken } from './continue-token.ts'

describe('continue tokens', () => {
  it('are those of a kube-apiserver', () => {
    const token = formatContinueToken({ revision: 42, lastKey: 'default/web' })
    expect(JSON.parse(Buffer.from(token, 'base64url').toString())).toEqual({
      v: 'meta.k8s.io/v1',
      rv: 42,
      start: 'default/web\u0000',
    })
    expect(parseContinueToken(token)).toEqual({ revision: 42, lastKey: 'default/web' })
  })

  it.each([
    'x',
    'e30',
    Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}').toString('base64url'),
    'A'.repeat(5000),
  ])('that are none are refused: %s', (token) => {
    expect(() => parseContinueToken(token)).toThrow(/^continue key is not valid/)
  })
})
