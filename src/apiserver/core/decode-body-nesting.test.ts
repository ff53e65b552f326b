import { expect, it } from 'vitest'
import type { RequestContext } from '../chain/handler.ts'
import { type ExpectedKind, readObject } from './decode-body.ts'

it.each([3_000, 4_500, 6_000])(
  'answers 400 to YAML that nests %i deep, which the parser would not survive',
  async (depth) => {
    const body = Buffer.from(`a: ${'['.repeat(depth)}`)
    const exchange = { headers: new Headers({ 'content-type': 'application/yaml' }), readBody: async () => body }
    const expected = { apiVersion: 'v1', kind: 'ConfigMap' } as ExpectedKind
    const reading = readObject({ exchange } as unknown as RequestContext, expected)
    await expect(reading).rejects.toMatchObject({ status: { code: 400 } })
    await expect(reading).rejects.toThrow('nested too deeply')
  },
)
