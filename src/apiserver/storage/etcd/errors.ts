/** What etcd's refusals mean to a store. It tells them apart by text, so we must too. */
import { type ServiceError, status } from '@grpc/grpc-js'
import { StoreFullError, StoreTooLargeError, StoreUnavailableError } from '../store-errors.ts'

const COMPACTED = 'etcdserver: mvcc: required revision has been compacted'
const FUTURE_REVISION = 'etcdserver: mvcc: required revision is a future revision'
const LEASE_NOT_FOUND = 'etcdserver: requested lease not found'
const FULL = 'etcdserver: mvcc: database space exceeded'
const TOO_LARGE = 'etcdserver: request is too large'

export type EtcdRefusal = 'compacted' | 'future-revision' | 'lease-not-found'

/** A refusal that the store answers by itself: the caller of the client decides what it means there. */
export class EtcdRefusedError extends Error {
  override readonly name = 'EtcdRefusedError'
  readonly refusal: EtcdRefusal

  constructor(refusal: EtcdRefusal, message: string) {
    super(message)
    this.refusal = refusal
  }
}

const REFUSALS: ReadonlyMap<string, EtcdRefusal> = new Map([
  [COMPACTED, 'compacted'],
  [FUTURE_REVISION, 'future-revision'],
  [LEASE_NOT_FOUND, 'lease-not-found'],
])

/** What an error of etcd means for the caller of a store; a StoreUnavailableError where nothing else is known. */
export function toStoreError(error: ServiceError): EtcdRefusedError | StoreFullError | StoreUnavailableError {
  const text = error.details
  const refusal = REFUSALS.get(text)
  if (refusal !== undefined) return new EtcdRefusedError(refusal, text)
  if (text === FULL) return new StoreFullError(`etcd refuses the write: ${text}`)
  if (text === TOO_LARGE) return new StoreTooLargeError(`etcd refuses the write: ${text}`)
  return new StoreUnavailableError(`etcd does not answer as it should: ${text}`, { cause: error })
}

export function isRefusal(error: unknown, refusal: EtcdRefusal): boolean {
  return error instanceof EtcdRefusedError && error.refusal === refusal
}

/** Another member may do better. */
export function isMembersFault({ code }: ServiceError): boolean {
  return code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED
}
