/** The watches that filters look at, each with the view it was begun with. */
import type { FilterMetrics } from './filter-metrics.ts'
import type { WatchBody } from './watch-body.ts'

const expiredMessage = 'the view of this resource through the edge endpoint has changed, list it again'

interface RunningWatch {
  /** Says in one text which filters apply now, and with which endpoint: equal texts mean equal views. */
  readonly view: () => string
  readonly begunWith: string
  readonly body: WatchBody
}

export class RunningWatches {
  readonly #watches = new Set<RunningWatch>()
  readonly #metrics: FilterMetrics

  constructor(metrics: FilterMetrics) {
    this.#metrics = metrics
  }

  add(body: WatchBody, view: () => string): void {
    const watch = { view, begunWith: view(), body }
    this.#watches.add(watch)
    this.#metrics.watchBegan()
    body.whenOver(() => {
      this.#watches.delete(watch)
      this.#metrics.watchEnded()
    })
  }

  /** Ends those whose view is another now. */
  expireChanged(): void {
    for (const { body, view, begunWith } of this.#watches) {
      if (!body.isExpired && view() !== begunWith) this.expire(body)
    }
  }

  expire(body: WatchBody): void {
    this.#metrics.watchExpired()
    body.expire(expiredMessage)
  }
}
