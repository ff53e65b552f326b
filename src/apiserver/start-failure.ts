/** What keeps an API server from starting though its settings are right, in words for people. */
import { isInsufficientStorage } from '../kube/status/predicates.ts'
import { SetupError } from './setup-error.ts'
import { StoreFullError } from './storage/store-errors.ts'

/** An error that says what to do where we know; otherwise the one that was given. */
export function explainStart(error: unknown): unknown {
  const full = lackOfRoom(error)
  if (full === undefined) return error
  return new SetupError(`the API server cannot write what it needs to start: ${full.message}`, { cause: error })
}

/** The store's own words: what a client would be told begins with an object that nobody here asked for. */
function lackOfRoom(error: unknown): StoreFullError | undefined {
  if (error instanceof StoreFullError) return error
  const { cause } = isInsufficientStorage(error) ? (error as Error) : {}
  return cause instanceof StoreFullError ? cause : undefined
}
