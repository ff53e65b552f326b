import { describe, expect, it } from 'vitest'
import { SharedRead } from './shared-read.ts'

/** Questions that the test answers by hand, in the order in which they were sent. */
function questions() {
  const sent: { resolve(answer: number): void; reject(error: Error): void }[] = []
  const shared = new SharedRead(() => new Promise<number>((resolve, reject) => sent.push({ resolve, reject })))
  return { sent, shared }
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

describe('SharedRead', () => {
  it('asks at once when nobody else does', async () => {
    const { sent, shared } = questions()
    for (const answer of [1, 2]) {
      const asked = shared.read()
      expect(sent).toHaveLength(answer)
      sent.at(-1)?.resolve(answer)
      expect(await asked).toBe(answer)
    }
  })

  it('never gives an answer to somebody who came after its question', async () => {
    const { sent, shared } = questions()
    const first = shared.read()
    const late = [shared.read(), shared.read(), shared.read()]
    sent[0]?.resolve(1)
    expect(await first).toBe(1)
    await settle()
    expect(sent).toHaveLength(2)
    const later = shared.read()
    sent[1]?.resolve(2)
    expect(await Promise.all(late)).toEqual([2, 2, 2])
    await settle()
    expect(sent).toHaveLength(3)
    sent[2]?.resolve(3)
    expect(await later).toBe(3)
  })

  it('tells of a failure only those who asked that question', async () => {
    const { sent, shared } = questions()
    const first = shared.read()
    const late = shared.read()
    sent[0]?.reject(new Error('no etcd'))
    await expect(first).rejects.toThrow('no etcd')
    await settle()
    sent[1]?.resolve(2)
    expect(await late).toBe(2)
  })
})
