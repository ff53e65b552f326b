import { safeParse } from 'valibot'
import { describe, expect, it } from 'vitest'
import { option, optional } from './option.ts'
import { recordsOf } from './records.ts'
import { filePath, integer, listOf, text } from './values.ts'

const type = recordsOf('boats', {
  name: option({ type: text, default: 'unnamed', description: '' }),
  masts: option({ type: integer(0, 5), default: '1', description: '' }),
  crew: option({ type: listOf(text), default: '', description: '' }),
  log: optional({ type: filePath, description: '' }),
})

function read(given: unknown) {
  const result = safeParse(type.schema('/base'), given)
  return result.success ? result.output : result.issues[0].message
}

describe('recordsOf', () => {
  it('reads records, fills in defaults and resolves paths', () => {
    expect(read([{ name: 'a', masts: 2, crew: ['x'], log: 'log.txt' }, {}])).toEqual([
      { name: 'a', masts: 2, crew: ['x'], log: '/base/log.txt' },
      { name: 'unnamed', masts: 1, crew: [], log: undefined },
    ])
  })

  it('reads the same from one line of YAML', () => {
    expect(read(type.fromText('[{name: a}, {masts: 3}]'))).toMatchObject([{ name: 'a' }, { masts: 3 }])
    expect(read(type.fromText(''))).toEqual([])
  })

  it('names the record and the key that is wrong', () => {
    expect(read([{}, { masts: 9 }])).toBe('number 2: masts: expected a whole number from 0 to 5, got the number 9')
    expect(read([{ mast: 1 }])).toBe('number 1: unknown key "mast"; did you mean "masts"?')
    expect(read(['a'])).toBe('number 1 is "a", not a mapping')
  })

  it('prints what it would read again', () => {
    const records = read([{ name: 'a', crew: ['x', 'y'] }])
    expect(read(type.toPlain(records as never))).toEqual(records)
  })
})
