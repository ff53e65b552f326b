/**
 * A queue in front of a slow, durable write. While one group is on its way to the disk the next one gathers, so that one
 * flush serves everybody who arrived meanwhile: throughput grows with the number of writers, latency hardly.
 *
 * What must stay true: groups are written one after another; members stay in the order in which they arrived; nobody
 * hears an answer before the write of his whole group has succeeded, because the answers of later members may rest on
 * what earlier ones wrote.
 */

/** Bounds what one transaction of the database holds, and with it the wait of those who come next. */
export const MAX_GROUP_MEMBERS = 256
export const MAX_GROUP_BYTES = 4 * 1024 * 1024

export interface GroupWriter<Request, Answer> {
  /** Decides and writes the whole group, and answers each member, in order, when all is on disk. */
  write(group: readonly Request[]): Promise<readonly Answer[]>
  /** What a request weighs against MAX_GROUP_BYTES. */
  weigh(request: Request): number
}

interface Waiting<Request, Answer> {
  readonly request: Request
  readonly bytes: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

export class GroupCommit<Request, Answer> {
  readonly #writer: GroupWriter<Request, Answer>
  #waiting: Waiting<Request, Answer>[] = []
  #running: Promise<void> | undefined
  #closedBy: Error | undefined

  constructor(writer: GroupWriter<Request, Answer>) {
    this.#writer = writer
  }

  submit(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#closedBy !== undefined) {
        reject(this.#closedBy)
        return
      }
      this.#waiting.push({ request, bytes: this.#writer.weigh(request), resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Rejects all that has not begun and all that comes; resolves when the group under way has ended. */
  async close(error: Error): Promise<void> {
    this.#closedBy = error
    for (const { reject } of this.#waiting.splice(0)) reject(error)
    await this.#running
  }

  async #run(): Promise<void> {
    // Requests that were made in the same breath travel together.
    await Promise.resolve()
    while (this.#waiting.length > 0) await this.#writeOne(this.#nextGroup())
    this.#running = undefined
  }

  async #writeOne(group: readonly Waiting<Request, Answer>[]): Promise<void> {
    try {
      const answers = await this.#writer.write(group.map(({ request }) => request))
      for (const [index, { resolve }] of group.entries()) resolve(answers[index] as Answer)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  /** At least one member, however heavy, and as many more as fit. */
  #nextGroup(): Waiting<Request, Answer>[] {
    let bytes = 0
    let count = 0
    for (const waiting of this.#waiting) {
      bytes += waiting.bytes
      if (count > 0 && (count === MAX_GROUP_MEMBERS || bytes > MAX_GROUP_BYTES)) break
      count++
    }
    return this.#waiting.splice(0, count)
  }
}
