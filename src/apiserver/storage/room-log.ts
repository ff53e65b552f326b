/**
 * A store that tells the log when it runs out of room, and when that is over: once each, because a full disk would
 * otherwise fill the log as well. Clients hear of it with every refusal.
 */
import type { Logger } from '../../telemetry/logger.ts'
import { decorateStore } from './decorate-store.ts'
import type { Store, Transaction } from './store.ts'
import { StoreFullError, StoreTooLargeError } from './store-errors.ts'

/** Nothing is told before `isServing`: who cannot start for want of room says so himself. */
export function roomLoggedStore(store: Store, logger: Logger, isServing: () => boolean): Store {
  let isFull = false
  const refused = (error: unknown): void => {
    const lacksRoom = error instanceof StoreFullError && !(error instanceof StoreTooLargeError)
    if (!lacksRoom || isFull || !isServing()) return
    isFull = true
    logger.warn({ why: error.message }, 'writes are refused for lack of room; reads go on')
  }
  const taken = (transaction: Transaction): void => {
    // Deletes are taken all the while.
    if (!isFull || !transaction.writes.some(({ type }) => type === 'put')) return
    isFull = false
    logger.info('there is room again: writes are taken')
  }
  return decorateStore(store, {
    commit: async (transaction) => {
      try {
        const result = await store.commit(transaction)
        if (result.committed) taken(transaction)
        return result
      } catch (error) {
        refused(error)
        throw error
      }
    },
  })
}
