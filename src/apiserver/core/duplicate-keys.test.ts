import { describe, expect, it } from 'vitest'
import { findDuplicateKeys } from './duplicate-keys.ts'

describe('findDuplicateKeys', () => {
  it.each([
    ['{"a":1,"a":2}', ['a']],
    ['{"spec":{"containers":[{"name":"a"},{"name":"b","name":"c"}]}}', ['spec.containers[1].name']],
    ['{"a":{"x":1},"b":{"x":1},"c":["x","x"]}', []],
    ['{"a\\"b":1,"a\\u0022b":2}', ['a"b']],
    ['{"a":"{\\"b\\":1,\\"b\\":2}"}', []],
    ['{"a":[[1],[2,{"k":1,"k":2}]]}', ['a[1][1].k']],
  ])('in %s finds %j', (text, found) => {
    expect(findDuplicateKeys(text)).toEqual(found)
  })
})
