import { describe, expect, it } from 'vitest'
import { messageType } from '../schema/schema.ts'
import { MAX_PATCH_BYTES, MAX_PATCH_DEPTH } from './limits.ts'
import { applyPatch, NoStrategicMergeError, type PatchKind, patchKindsOf } from './patch.ts'

const message = messageType('k8s.io.api.core.v1.ConfigMap')
const object = { data: { a: '1' } }

const apply = (type: PatchKind, patch: unknown): unknown =>
  applyPatch({ type, patch: typeof patch === 'string' ? Buffer.from(patch) : patch, object, message })

describe('applyPatch', () => {
  it('takes bytes and values', () => {
    const expected = { data: { a: '2' } }
    const operations = [{ op: 'replace', path: '/data/a', value: '2' }]
    expect(apply('json', JSON.stringify(operations))).toEqual(expected)
    expect(apply('json', operations)).toEqual(expected)
    expect(apply('merge', JSON.stringify(expected))).toEqual(expected)
    expect(apply('merge', expected)).toEqual(expected)
    expect(apply('strategic', JSON.stringify(expected))).toEqual(expected)
    expect(apply('strategic', expected)).toEqual(expected)
    expect(object).toEqual({ data: { a: '1' } })
  })

  it('keeps integers that a number cannot hold', () => {
    expect(apply('merge', '{"n":9007199254740993}')).toEqual({ ...object, n: 9007199254740993n })
  })

  it.each<[PatchKind, string, string]>([
    ['json', '[', 'error decoding patch: unexpected end of JSON input'],
    ['merge', '\uFEFF{}', "error decoding patch: invalid character 'ï' looking for beginning of value"],
    ['strategic', '{"a"}', "invalid character '}' after object key"],
    ['json', '{}', 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp'],
    ['merge', 'null', 'Invalid JSON Patch'],
    ['strategic', '[]', 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
  ])('refuses the %s patch %s', (type, patch, text) => {
    expect(() => apply(type, patch)).toThrow(
      expect.objectContaining({ code: 400, reason: 'BadRequest', message: text }),
    )
  })

  it.each<PatchKind>(['json', 'merge', 'strategic'])('bounds the size and depth of a %s patch', (type) => {
    const tooLong = ' '.repeat(MAX_PATCH_BYTES + 1)
    expect(() => apply(type, tooLong)).toThrow(expect.objectContaining({ code: 413 }))
    const tooDeep = `${'{"a":'.repeat(MAX_PATCH_DEPTH + 1)}1${'}'.repeat(MAX_PATCH_DEPTH + 1)}`
    expect(() => apply(type, type === 'json' ? `[${tooDeep}]` : tooDeep)).toThrow(
      expect.objectContaining({ code: 400 }),
    )
    const endless = '['.repeat(MAX_PATCH_BYTES / 2) + ']'.repeat(MAX_PATCH_BYTES / 2)
    expect(() => apply(type, endless)).toThrow(expect.objectContaining({ code: 400 }))
  })

  it('has no strategic merge patch for kinds without a schema', () => {
    const request = { patch: {}, object, message: undefined }
    expect(() => applyPatch({ ...request, type: 'strategic' })).toThrow(NoStrategicMergeError)
    expect(applyPatch({ ...request, type: 'merge' })).toEqual(object)
    expect(patchKindsOf(undefined)).toEqual(['json', 'merge'])
    expect(patchKindsOf(message)).toEqual(['json', 'merge', 'strategic'])
  })
})
