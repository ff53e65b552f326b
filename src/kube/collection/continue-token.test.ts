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

  it('are understood as a kube-apiserver writes them', () => {
    const token = Buffer.from('{"v":"meta.k8s.io/v1","rv":204,"start":"/a\\u0000"}').toString('base64url')
    expect(parseContinueToken(token)).toEqual({ revision: 204, lastKey: 'a' })
  })

  it.each([
    'x',
    Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"//x"}').toString('base64url'),
    'e30',
    Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}').toString('base64url'),
    'A'.repeat(5000),
  ])('that are none are refused: %s', (token) => {
    expect(() => parseContinueToken(token)).toThrow(/^continue key is not valid/)
  })
})
