import { expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import {
  API_SERVER_DIALS_BURST_PER_NODE,
  API_SERVER_DIALS_PER_SECOND_PER_NODE,
  ApiServerShares,
  MAX_API_SERVER_CONNECTIONS_PER_NODE,
} from './api-server-shares.ts'

function takeMany(shares: ApiServerShares, node: string, count: number): (() => void)[] {
  return Array.from({ length: count }, () => {
    const taken = shares.take(node)
    if (typeof taken === 'string') throw new Error(taken)
    return taken
  })
}

it('bounds the new connections of a node over time, and of no other', async () => {
  const clock = new ManualClock()
  const shares = new ApiServerShares(clock)
  for (const release of takeMany(shares, 'greedy', API_SERVER_DIALS_BURST_PER_NODE)) release()
  expect(shares.take('greedy')).toBe('apiserver-dials-per-node')
  takeMany(shares, 'modest', 1)
  await clock.advance(1_000)
  takeMany(shares, 'greedy', API_SERVER_DIALS_PER_SECOND_PER_NODE)
  expect(shares.take('greedy')).toBe('apiserver-dials-per-node')
})

it('bounds the connections of a node at a time', async () => {
  const clock = new ManualClock()
  const shares = new ApiServerShares(clock)
  const held: (() => void)[] = []
  while (held.length < MAX_API_SERVER_CONNECTIONS_PER_NODE) {
    held.push(...takeMany(shares, 'greedy', 64))
    await clock.advance(1_000)
  }
  expect(shares.take('greedy')).toBe('apiserver-connections-per-node')
  takeMany(shares, 'modest', 1)
  held.pop()?.()
  expect(typeof shares.take('greedy')).toBe('function')
})

it('forgets nodes that have gone, and none that would come back for more', async () => {
  const clock = new ManualClock()
  const shares = new ApiServerShares(clock)
  for (let node = 0; node < 1_022; node++) for (const release of takeMany(shares, `gone-${node}`, 1)) release()
  takeMany(shares, 'connected', 1)
  await clock.advance(1_000)
  for (const release of takeMany(shares, 'greedy', API_SERVER_DIALS_BURST_PER_NODE)) release()
  takeMany(shares, 'new', 1)
  expect(shares.size).toBe(3)
  expect(shares.take('greedy')).toBe('apiserver-dials-per-node')
})
