import { expect, it } from 'vitest'
import { decodeObject, type ExpectedKind } from './decode-body.ts'

it.each([3_000, 4_500, 6_000])(
  'answers 400 to YAML that nests %i deep, which the parser would not survive',
  (depth) => {
    const bytes = Buffer.from(`a: ${'['.repeat(depth)}`)
    const expected = { apiVersion: 'v1', kind: 'ConfigMap' } as ExpectedKind
    const message = expect.stringContaining('nested too deeply') as string
    expect(() => decodeObject({ bytes, encoding: 'yaml', validation: 'Warn' }, expected)).toThrow(
      expect.objectContaining({ status: expect.objectContaining({ code: 400, message }) }),
    )
  },
)
