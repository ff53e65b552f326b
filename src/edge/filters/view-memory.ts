/**
 * With which view of a resource each client was last given all of it. A client that resumes a watch has what it was given
 * then; if that was through another view than the present one, only a new list helps it.
 */
import { BoundedMap } from '../../runtime/bounded-map.ts'

/**
 * For verified and for claimed callers each. A kubelet watches each ConfigMap that its pods mount on its own, a few hundred
 * in all; who is forgotten is judged by the view of the run before and lists once more at worst.
 */
const MAX_REMEMBERED_VIEWS = 4_096

/** Stands for the view of what was read in pages through different views: no view has this text. */
const mixedViews = 'mixed'

export class ViewMemory {
  /** By who reads what, see `Reading.key`. */
  readonly #views: BoundedMap<string, string>

  constructor(maxEntries = MAX_REMEMBERED_VIEWS) {
    this.#views = new BoundedMap(maxEntries)
  }

  get size(): number {
    return this.#views.size
  }

  /** The client has been given everything, or the first page of it, through this view. */
  answered(key: string, view: string): void {
    this.#views.set(key, view)
  }

  /** One more page. Of a first page that is not known nothing is learnt from a later one. */
  continued(key: string, view: string): void {
    const known = this.#views.get(key)
    if (known !== undefined) this.answered(key, known === view ? view : mixedViews)
  }

  /**
   * Whether a client that resumes a watch has something else than the present view shows. `before` is the view of the run
   * before, in which a client that is not known here may have listed; undefined where there was no such run.
   */
  isStale(key: string, present: string, before: string | undefined): boolean {
    const known = this.#views.use(key)
    return (known ?? before ?? present) !== present
  }
}
