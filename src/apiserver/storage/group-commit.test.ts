import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GroupCommit, MAX_GROUP_BYTES, MAX_GROUP_MEMBERS } from './group-commit.ts'

/** A writer whose groups end when the test says so. */
class HeldWriter {
  readonly groups: { readonly members: readonly number[]; readonly end: (error?: Error) => void }[] = []
  readonly #bytesEach: number

  constructor(bytesEach = 1) {
    this.#bytesEach = bytesEach
  }

  weigh = (): number => this.#bytesEach

  write = (members: readonly number[]): Promise<readonly number[]> =>
    new Promise((resolve, reject) => {
      const answers = members.map((member) => member * 10)
      this.groups.push({ members, end: (error) => (error === undefined ? resolve(answers) : reject(error)) })
    })
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('GroupCommit', () => {
  it('writes together what was submitted in one breath', async () => {
    const writer = new HeldWriter()
    const queue = new GroupCommit<number, number>(writer)
    const answers = Promise.all([queue.submit(1), queue.submit(2), queue.submit(3)])
    await turn()
    expect(writer.groups.map(({ members }) => members)).toEqual([[1, 2, 3]])
    writer.groups[0]?.end()
    expect(await answers).toEqual([10, 20, 30])
  })

  it('gathers the next group while one is written, and begins it only when that has ended', async () => {
    const writer = new HeldWriter()
    const queue = new GroupCommit<number, number>(writer)
    const first = queue.submit(1)
    await turn()
    const others = [queue.submit(2), queue.submit(3)]
    await turn()
    expect(writer.groups).toHaveLength(1)
    writer.groups[0]?.end()
    expect(await first).toBe(10)
    await turn()
    expect(writer.groups[1]?.members).toEqual([2, 3])
    writer.groups[1]?.end()
    expect(await Promise.all(others)).toEqual([20, 30])
  })

  it('answers nobody before the write has ended', async () => {
    const writer = new HeldWriter()
    const queue = new GroupCommit<number, number>(writer)
    const answers: number[] = []
    const answer = queue.submit(1).then((value) => answers.push(value))
    for (let count = 0; count < 20; count++) await turn()
    expect(answers).toEqual([])
    writer.groups[0]?.end()
    await answer
  })

  it('tells a failure to all members of the group, and to nobody else', async () => {
    const writer = new HeldWriter()
    const queue = new GroupCommit<number, number>(writer)
    const failing = Promise.allSettled([queue.submit(1), queue.submit(2)])
    await turn()
    const next = queue.submit(3)
    const error = new Error('disk full')
    writer.groups[0]?.end(error)
    expect(await failing).toEqual([
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
    ])
    await turn()
    writer.groups[1]?.end()
    expect(await next).toBe(30)
  })

  it.each([
    ['members', 1, MAX_GROUP_MEMBERS],
    ['bytes', MAX_GROUP_BYTES / 4, 4],
    ['bytes, but takes one that is too heavy alone', MAX_GROUP_BYTES + 1, 1],
  ])('bounds a group by its %s', async (_, bytesEach, expected) => {
    const writer = new HeldWriter(bytesEach)
    const queue = new GroupCommit<number, number>(writer)
    const answers = Promise.all(Array.from({ length: 2 * expected }, (_, index) => queue.submit(index)))
    await turn()
    writer.groups[0]?.end()
    await turn()
    writer.groups[1]?.end()
    await answers
    expect(writer.groups.map(({ members }) => members.length)).toEqual([expected, expected])
  })

  it('when closed, rejects what waits and what comes, and waits for the group under way', async () => {
    const writer = new HeldWriter()
    const queue = new GroupCommit<number, number>(writer)
    const underWay = queue.submit(1)
    await turn()
    const waiting = queue.submit(2)
    const error = new Error('closed')
    const ends: string[] = []
    const closing = queue.close(error).then(() => ends.push('closed'))
    await expect(waiting).rejects.toBe(error)
    await expect(queue.submit(3)).rejects.toBe(error)
    expect(ends).toEqual([])
    writer.groups[0]?.end()
    expect(await underWay).toBe(10)
    await closing
    expect(writer.groups).toHaveLength(1)
  })

  it('keeps the order in which requests came, whatever the pauses between them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 50 }), async (pauses) => {
        const written: number[] = []
        const write = async (members: readonly number[]): Promise<readonly number[]> => {
          await turn()
          written.push(...members)
          return members
        }
        const queue = new GroupCommit<number, number>({ weigh: () => 1, write })
        const answers: Promise<number>[] = []
        for (const [index, pause] of pauses.entries()) {
          answers.push(queue.submit(index))
          if (pause) await turn()
        }
        expect(await Promise.all(answers)).toEqual(pauses.map((_, index) => index))
        expect(written).toEqual(pauses.map((_, index) => index))
      }),
    )
  })
})
