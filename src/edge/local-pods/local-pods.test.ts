import * as fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import type { LocalPod } from './local-pod.ts'
import { AGREED_LINGER_MS, COMPARE_MS, LocalPods, MAX_LOCAL_PODS, MAX_ONLINE_MS } from './local-pods.ts'

function pod(uid: string, address = '10.1.0.9', isReady = true): LocalPod {
  return {
    uid,
    namespace: 'default',
    name: `pod-${uid}`,
    addresses: [address],
    isReady,
    isTerminating: false,
    isOver: false,
  }
}

describe('local pods', () => {
  let clock: ManualClock
  let upstream: Map<string, LocalPod>
  let pods: LocalPods
  let heard: string[][]

  beforeEach(() => {
    clock = new ManualClock()
    upstream = new Map()
    pods = new LocalPods({ run: 'a', upstreamOf: ({ uid }) => upstream.get(uid), clock })
    heard = []
    pods.onChange((uids) => heard.push([...uids]))
  })

  it('are those that differ from what the API server has', () => {
    upstream.set('one', pod('one', '10.1.0.1'))
    upstream.set('two', pod('two'))
    pods.tell(pod('one'))
    pods.tell(pod('two'))
    pods.tell(pod('three'))
    expect([pods.of('one'), pods.of('two'), pods.of('three')]).toEqual([pod('one'), undefined, pod('three')])
    expect(heard).toEqual([['one'], ['three']])
  })

  it('are told of once for each change, under a revision that never comes again', () => {
    expect(pods.revision).toBe('')
    const revisions = ['']
    const told = [pod('one'), pod('one'), pod('one', '10.1.0.9', false), pod('one')]
    for (const each of told) {
      pods.tell(each)
      revisions.push(pods.revision)
    }
    expect(heard).toEqual([['one'], ['one'], ['one']])
    expect(revisions).toEqual(['', 'a.1', 'a.1', 'a.2', 'a.3'])
    upstream.set('one', pod('one'))
    pods.tell(pod('one'))
    expect([pods.size, pods.revision]).toEqual([0, 'a.4'])
  })

  it('stay for as long as nobody can be asked', async () => {
    pods.tell(pod('one'))
    upstream.set('one', pod('one'))
    await clock.advance(100 * MAX_ONLINE_MS)
    expect(pods.of('one')).toEqual(pod('one'))
  })

  it('go soon after the API server says the same, when EndpointSlices have followed', async () => {
    pods.tell(pod('one'))
    upstream.set('one', pod('one', '10.1.0.9', false))
    pods.setOnline(true)
    await clock.advance(10 * COMPARE_MS)
    expect(pods.size).toBe(1)
    upstream.set('one', pod('one'))
    await clock.advance(AGREED_LINGER_MS)
    expect(pods.size).toBe(1)
    await clock.advance(COMPARE_MS)
    expect(pods.size).toBe(0)
    expect(heard).toEqual([['one'], ['one']])
  })

  it('go after a minute with the API server, whatever it says', async () => {
    pods.tell(pod('one'))
    upstream.set('one', pod('one', '10.1.0.1'))
    pods.setOnline(true)
    await clock.advance(MAX_ONLINE_MS - 1)
    expect(pods.size).toBe(1)
    await clock.advance(1)
    expect(pods.size).toBe(0)
  })

  it('outlive a short return of the API server, however often', async () => {
    pods.tell(pod('one'))
    for (let times = 0; times < 5; times += 1) {
      pods.setOnline(true)
      await clock.advance(MAX_ONLINE_MS / 2)
      pods.setOnline(false)
      await clock.advance(MAX_ONLINE_MS)
    }
    expect(pods.of('one')).toEqual(pod('one'))
    expect(heard).toEqual([['one']])
  })

  it('are as the API server has them from when it took the word of the kubelet, and then go', async () => {
    pods.tell(pod('one'))
    pods.setOnline(true)
    pods.agreed(pod('one', '10.1.0.9', false))
    pods.agreed(pod('never told of'))
    expect([pods.of('one')?.isReady, pods.size]).toEqual([false, 1])
    await clock.advance(AGREED_LINGER_MS)
    expect(pods.size).toBe(0)
    expect(heard).toEqual([['one'], ['one'], ['one']])
  })

  it('are so many at most, those told of last', () => {
    for (let index = 0; index <= MAX_LOCAL_PODS; index += 1) pods.tell(pod(String(index)))
    expect([pods.size, pods.of('0'), pods.of('1')?.uid]).toEqual([MAX_LOCAL_PODS, undefined, '1'])
    expect(heard.at(-1)).toEqual([String(MAX_LOCAL_PODS), '0'])
  })

  it('leave no timer behind without anything to compare', async () => {
    pods.setOnline(true)
    expect(clock.pending).toBe(0)
    pods.tell(pod('one'))
    expect(clock.pending).toBe(1)
    await clock.advance(MAX_ONLINE_MS)
    expect(clock.pending).toBe(0)
    pods.tell(pod('two'))
    pods.close()
    expect([clock.pending, pods.size]).toEqual([0, 0])
  })

  it('tell their listeners of every difference, so that whoever follows has what they have', async () => {
    const uid = fc.constantFrom('a', 'b', 'c')
    const some = fc.record({ uid, address: fc.constantFrom('10.1.0.1', '10.1.0.2'), isReady: fc.boolean() })
    const step = fc.oneof(
      some.map((value) => ({ type: 'tell' as const, ...value })),
      some.map((value) => ({ type: 'upstream' as const, ...value })),
      some.map((value) => ({ type: 'agreed' as const, ...value })),
      fc.boolean().map((isOnline) => ({ type: 'online' as const, isOnline })),
      fc.nat(MAX_ONLINE_MS).map((delayMs) => ({ type: 'wait' as const, delayMs })),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const time = new ManualClock()
        const known = new Map<string, LocalPod>()
        const all = new LocalPods({ run: 'r', upstreamOf: (one) => known.get(one.uid), clock: time })
        const followed = new Map<string, LocalPod | undefined>()
        all.onChange((uids) => {
          for (const each of uids) followed.set(each, all.of(each))
        })
        for (const each of steps) {
          if (each.type === 'online') all.setOnline(each.isOnline)
          else if (each.type === 'wait') await time.advance(each.delayMs)
          else {
            const value = pod(each.uid, each.address, each.isReady)
            if (each.type === 'upstream') known.set(each.uid, value)
            else all[each.type](value)
          }
          for (const name of ['a', 'b', 'c']) expect(followed.get(name)).toEqual(all.of(name))
        }
        all.setOnline(true)
        await time.advance(MAX_ONLINE_MS)
        expect(all.size).toBe(0)
      }),
      { numRuns: 100 },
    )
  })
})
