/** A store around another one: what a decorator does not do itself, the store behind it does. */
import type { Store } from './store.ts'

/**
 * Forwards every call to `store` except those that `own` answers. Written out, not spread: stores are classes, whose
 * methods a spread does not see, and a method that `Store` gains is missed here by the compiler.
 */
export function decorateStore(store: Store, own: Partial<Store>): Store {
  const forwarded: Store = {
    revision: () => store.revision(),
    get: (key, options) => store.get(key, options),
    list: (prefix, options) => store.list(prefix, options),
    commit: (transaction) => store.commit(transaction),
    watch: (prefix, afterRevision, signal) => store.watch(prefix, afterRevision, signal),
    compact: (revision) => store.compact(revision),
    compactedRevision: () => store.compactedRevision(),
    close: () => store.close(),
  }
  return { ...forwarded, ...own }
}
