import { describe, expect, it } from 'vitest'
import { filledFields, presentFields } from './present-fields.ts'

describe('presentFields', () => {
  it('leaves out what is undefined and keeps the order and every other value', () => {
    const made = presentFields({ a: 1, b: undefined, c: null, d: '', e: false })
    expect(JSON.stringify(made)).toBe('{"a":1,"c":null,"d":"","e":false}')
    expect('b' in made).toBe(false)
  })
})

describe('filledFields', () => {
  it('leaves out nulls as well', () => {
    expect(JSON.stringify(filledFields({ a: 1, b: undefined, c: null, d: '' }))).toBe('{"a":1,"d":""}')
  })
})
