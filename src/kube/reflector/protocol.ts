/** What goes into the reflector's core and what comes out of it. */
import type { ListQuery, WatchQuery } from '../client/options.ts'
import type { KubeList, Versioned, WatchEvent } from '../objects.ts'
import type { Failure } from './failure.ts'
import type { Change } from './view.ts'

export type Input<T extends Versioned> =
  | { readonly type: 'event'; readonly event: WatchEvent<T> }
  | { readonly type: 'page'; readonly list: KubeList<T> }
  /** The server ended the watch between two events. */
  | { readonly type: 'ended' }
  /** Nothing came for as long as `patienceMs` allows. */
  | { readonly type: 'silent' }
  | { readonly type: 'failed'; readonly error: unknown }
  /** The wait is over. */
  | { readonly type: 'waited' }

/** `read` goes on with the open watch; everything else is done after closing it. */
export type Action =
  | { readonly do: 'read' }
  | { readonly do: 'watch'; readonly query: WatchQuery }
  | { readonly do: 'list'; readonly query: ListQuery }
  | { readonly do: 'wait'; readonly delayMs: number }

export interface Step<T extends Versioned> {
  readonly changes: readonly Change<T>[]
  /** Set when this step completed a snapshot: the view is what the server had. */
  readonly synced?: true
  /** Set when this step is the answer to a failure. */
  readonly failure?: Failure
  readonly next: Action
}
