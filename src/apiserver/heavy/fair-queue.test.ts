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

it('gives the accounts of a namespace one turn together', () => {
  const queue = new FairQueue<string>()
  for (const account of ['a', 'b', 'c']) queue.push(`system:serviceaccount:team:${account}`, account)
  queue.push('system:serviceaccount:team:a', 'a2')
  queue.push('system:serviceaccount:other:a', 'other')
  queue.push('user', 'user')
  expect(Array.from({ length: 6 }, () => queue.shift())).toEqual(['a', 'other', 'user', 'b', 'c', 'a2'])
})

it('makes room for those who have less', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'a3']) queue.push('system:serviceaccount:team:a', item)
  queue.push('system:serviceaccount:team:b', 'b1')
  expect(queue.displace('user')).toBe('a3')
  queue.push('user', 'user1')
  expect(queue.displace('user')).toBe('a2')
  queue.push('user', 'user2')
  // As many as the others have.
  expect(queue.displace('user')).toBeUndefined()
  expect([queue.size, queue.shift(), queue.shift()]).toEqual([4, 'a1', 'user1'])
})
