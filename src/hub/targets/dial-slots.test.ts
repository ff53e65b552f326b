import { expect, it } from 'vitest'
import { DialSlots } from './dial-slots.ts'

it('bounds the dials of one node, and of all', () => {
  const slots = new DialSlots(3, 2)
  const first = slots.take('a')
  slots.take('a')
  expect(slots.take('a')).toBe('dials-per-node')
  slots.take('b')
  expect([slots.take('b'), slots.taken]).toEqual(['dials', 3])
  if (typeof first === 'function') first()
  expect(slots.taken).toBe(2)
  expect(typeof slots.take('a')).toBe('function')
})
