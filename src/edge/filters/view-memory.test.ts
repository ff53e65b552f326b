import { array, assert, constantFrom, integer, property, tuple } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ViewMemory } from './view-memory.ts'

describe('a client that resumes', () => {
  it('is stale where it was given another view', () => {
    const memory = new ViewMemory()
    memory.answered('kubelet', 'a')
    expect(memory.isStale('kubelet', 'a', 'b')).toBe(false)
    expect(memory.isStale('kubelet', 'b', 'b')).toBe(true)
    memory.answered('kubelet', 'b')
    expect(memory.isStale('kubelet', 'b', 'a')).toBe(false)
  })

  it('is judged by the run before where nothing is known of it', () => {
    const memory = new ViewMemory()
    memory.answered('another', 'a')
    expect(memory.isStale('kubelet', 'a', 'a')).toBe(false)
    expect(memory.isStale('kubelet', 'a', 'b')).toBe(true)
    expect(memory.isStale('kubelet', 'a', undefined)).toBe(false)
  })

  it('is stale under every view where its pages came through different ones', () => {
    const memory = new ViewMemory()
    memory.answered('kubelet', 'a')
    memory.continued('kubelet', 'a')
    expect(memory.isStale('kubelet', 'a', undefined)).toBe(false)
    memory.continued('kubelet', 'b')
    memory.continued('kubelet', 'a')
    for (const view of ['a', 'b']) expect(memory.isStale('kubelet', view, undefined)).toBe(true)
    memory.answered('kubelet', 'a')
    expect(memory.isStale('kubelet', 'a', undefined)).toBe(false)
  })

  it('is not known by a later page alone', () => {
    const memory = new ViewMemory()
    memory.continued('kubelet', 'a')
    expect(memory.size).toBe(0)
    expect(memory.isStale('kubelet', 'a', 'b')).toBe(true)
  })
})

describe('the memory', () => {
  it('forgets the one that was used least recently', () => {
    const memory = new ViewMemory(2)
    memory.answered('a', 'old')
    memory.answered('b', 'old')
    expect(memory.isStale('a', 'new', 'new')).toBe(true)
    memory.answered('c', 'old')
    expect(memory.isStale('b', 'new', 'new')).toBe(false)
    expect(memory.isStale('a', 'new', 'new')).toBe(true)
  })

  it('never grows beyond its limit, and knows as many of the last as it holds', () => {
    const step = tuple(constantFrom('a', 'b', 'c', 'd', 'e'), constantFrom('x', 'y'))
    assert(
      property(array(step), integer({ min: 1, max: 4 }), (steps, maxEntries) => {
        const memory = new ViewMemory(maxEntries)
        const lastFirst: string[] = []
        const views = new Map<string, string>()
        for (const [key, view] of steps) {
          memory.answered(key, view)
          views.set(key, view)
          lastFirst.splice(0, lastFirst.length, key, ...lastFirst.filter((other) => other !== key))
          expect(memory.size).toBe(Math.min(maxEntries, views.size))
        }
        for (const key of lastFirst.slice(0, maxEntries)) expect(memory.isStale(key, '', '')).toBe(views.has(key))
        for (const key of lastFirst.slice(maxEntries)) expect(memory.isStale(key, '', '')).toBe(false)
      }),
    )
  })
})
