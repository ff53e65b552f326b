import { describe, expect, it } from 'vitest'
import { Ending } from './ending.ts'

describe('Ending', () => {
  it('calls those who listen once, in their order, and nobody who has left or comes later', () => {
    const ending = new Ending()
    const called: string[] = []
    const left = (): void => void called.push('left')
    ending.addEventListener('abort', () => called.push('first'))
    ending.addEventListener('abort', left)
    ending.addEventListener('abort', () => called.push('second'))
    ending.removeEventListener('abort', left)
    expect([ending.aborted, ending.reason]).toEqual([false, undefined])
    ending.end()
    ending.end()
    ending.addEventListener('abort', () => called.push('late'))
    expect(called).toEqual(['first', 'second'])
    expect(ending.aborted).toBe(true)
    expect(ending.reason).toBeInstanceOf(Error)
  })

  it('has forgotten whoever listened by the time they are called', () => {
    const ending = new Ending()
    const called: string[] = []
    const second = (): void => void called.push('second')
    ending.addEventListener('abort', () => ending.removeEventListener('abort', second))
    ending.addEventListener('abort', second)
    ending.end()
    expect(called).toEqual(['second'])
  })

  it('is an AbortSignal for whoever needs one, before and after the end', () => {
    const ending = new Ending()
    const before = ending.signal
    expect(before).toBe(ending.signal)
    expect(before.aborted).toBe(false)
    ending.end()
    expect(before.reason).toBe(ending.reason)
    const late = new Ending()
    late.end()
    expect(late.signal.aborted).toBe(true)
    expect(late.signal.reason).toBe(late.reason)
  })
})
