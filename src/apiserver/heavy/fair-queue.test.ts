import { expect, it } from 'vitest'
import { FairQueue } from './fair-queue.ts'

it('serves callers in turn, and each in its order', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'a3']) queue.push('a', item)
  queue.push('b', 'b1')
  queue.push('c', 'c1')
  queue.push('b', 'b2')
  expect([queue.size, queue.sizeOf('a'), queue.sizeOf('b'), queue.sizeOf('d')]).toEqual([6, 3, 2, 0])
  const served = Array.from({ length: 7 }, () => queue.shift())
  expect(served).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined])
  expect([queue.size, queue.sizeOf('a')]).toEqual([0, 0])
})

it('forgets what has left', () => {
  const queue = new FairQueue<string>()
  queue.push('a', 'a1')
  queue.push('a', 'a2')
  queue.remove('a', 'a1')
  queue.remove('a', 'a1')
  queue.remove('b', 'a2')
  expect([queue.size, queue.shift(), queue.shift(), queue.size]).toEqual([1, 'a2', undefined, 0])
})
