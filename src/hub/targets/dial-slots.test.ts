import { expect, it } from 'vitest'
import { DialSlots } from './dial-slots.ts'

it('bounds the dials of one node, and of all', () => {
  const slots = new DialSlots({ maxDials: 3, maxDialsPerNode: 2 })
  const first = slots.take('a')
  slots.take('a')
  expect(slots.take('a')).toBe('dials-per-node')
  slots.take('b')
  expect([slots.take('b'), slots.taken]).toEqual(['dials', 3])
  if (typeof first === 'function') first()
  expect(slots.taken).toBe(2)
  expect(typeof slots.take('a')).toBe('function')
})

it('lets one node have any number of connections until they are scarce, and others have some then too', () => {
  const slots = new DialSlots({ scarceConnections: 3, maxScarceConnectionsPerNode: 1 })
  const releases = ['greedy', 'greedy', 'greedy'].map((node) => {
    expect(typeof slots.take(node)).toBe('function')
    return slots.hold(node)
  })
  expect([slots.take('greedy'), slots.held]).toEqual(['connections-per-node', 3])
  expect(typeof slots.take('modest')).toBe('function')
  slots.hold('modest')
  expect(slots.take('modest')).toBe('connections-per-node')
  for (const release of releases) release()
  expect(slots.held).toBe(1)
  expect([typeof slots.take('greedy'), typeof slots.take('modest')]).toEqual(['function', 'function'])
})
