/** The watches that filters look at, each with the view it was begun with. */
import type { FilterMetrics } from './filter-metrics.ts'
import type { WatchBody } from './watch-body.ts'

const expiredMessage = 'the view of this resource through the edge endpoint has changed, list it again'

export interface WatchSight {
  /** Says in one text which filters apply now, and with which endpoint: equal texts mean equal views. */
  readonly view: () => string
  /** Whether the pods of this node are part of what it shows. */
  readonly showsLocalPods: () => boolean
  /** Whether whatever feeds it tells objects again that look different. */
  readonly isRetold: () => boolean
}

interface RunningWatch extends WatchSight {
  readonly begunWith: string
  readonly body: WatchBody
}

export class RunningWatches {
  readonly #watches = new Set<RunningWatch>()
  readonly #metrics: FilterMetrics

  constructor(metrics: FilterMetrics) {
    this.#metrics = metrics
  }

  add(body: WatchBody, sight: WatchSight): void {
    const watch = { ...sight, begunWith: sight.view(), body }
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

  /** Ends those that show the pods of this node and would not be told of what has changed. */
  expireUntold(): void {
    for (const { body, showsLocalPods, isRetold } of this.#watches) {
      if (!body.isExpired && showsLocalPods() && !isRetold()) this.expire(body)
    }
  }

  expire(body: WatchBody): void {
    this.#metrics.watchExpired()
    body.expire(expiredMessage)
  }
}
