import { describe, expect, it } from 'vitest'
import { MAX_SENT_FRAME_BYTES, SEND_QUANTUM_BYTES } from './limits.ts'
import { type Sender, SendScheduler } from './send-scheduler.ts'

class FakeSender implements Sender {
  isScheduled = false
  deficitBytes = 0
  nextSender: Sender | undefined = undefined
  readonly name: number
  leftBytes: number

  constructor(name: number, leftBytes: number) {
    this.name = name
    this.leftBytes = leftBytes
  }

  get isSendable(): boolean {
    return this.leftBytes > 0
  }

  emit(maxBytes: number, out: Uint8Array[]): number {
    const bytes = Math.min(maxBytes, this.leftBytes)
    this.leftBytes -= bytes
    out.push(new Uint8Array([this.name]))
    return bytes
  }
}

function order(scheduler: SendScheduler, maxBytes: number): number[] {
  const out: Uint8Array[] = []
  scheduler.take(maxBytes, out)
  return out.map((name) => name[0] ?? -1)
}

describe('SendScheduler', () => {
  it('takes turns, so that a small sender never waits for a large one', () => {
    const scheduler = new SendScheduler()
    scheduler.add(new FakeSender(1, 10 * SEND_QUANTUM_BYTES))
    scheduler.add(new FakeSender(2, 100))
    scheduler.add(new FakeSender(3, 2 * SEND_QUANTUM_BYTES))
    expect(order(scheduler, 5 * SEND_QUANTUM_BYTES)).toEqual([1, 2, 3, 1, 3, 1])
  })

  it('gives every one of many large senders the same share', () => {
    const scheduler = new SendScheduler()
    const senders = [1, 2, 3, 4].map((name) => new FakeSender(name, 1e9))
    for (const sender of senders) scheduler.add(sender)
    for (let turn = 0; turn < 40; turn++) order(scheduler, SEND_QUANTUM_BYTES)
    expect(new Set(senders.map(({ leftBytes }) => leftBytes))).toEqual(new Set([1e9 - 10 * SEND_QUANTUM_BYTES]))
  })

  it('lets a sender that is alone use full frames', () => {
    const scheduler = new SendScheduler()
    const sender = new FakeSender(1, 1e9)
    scheduler.add(sender)
    order(scheduler, 1)
    expect(sender.leftBytes).toBe(1e9 - MAX_SENT_FRAME_BYTES)
  })

  it('forgets a sender that has nothing more, and takes it again when told', () => {
    const scheduler = new SendScheduler()
    const sender = new FakeSender(1, 10)
    scheduler.add(sender)
    scheduler.add(sender)
    expect(order(scheduler, 1_000)).toEqual([1])
    expect(scheduler.isEmpty).toBe(true)
    sender.leftBytes = 5
    scheduler.add(sender)
    expect(order(scheduler, 1_000)).toEqual([1])
  })

  it('passes over a sender that was stopped while it waited', () => {
    const scheduler = new SendScheduler()
    const stopped = new FakeSender(1, 10)
    scheduler.add(stopped)
    scheduler.add(new FakeSender(2, 10))
    stopped.leftBytes = 0
    expect(order(scheduler, 1_000)).toEqual([2])
  })
})
