/** A request as the endpoint hands it to the replica. */

import type { Cancellation } from '../../http/server/ending.ts'
import type { Reader } from '../readers/readers.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'
import type { ReadHead } from './reading.ts'

export interface ReplicaRequest extends ReadHead {
  readonly reader: Reader
  /** Aborts when nobody wants the answer any more. */
  readonly signal: Cancellation
  /** The whole body; rejects where it is larger. Whoever has it hands it to `up`. */
  readonly readBody: (maxBytes: number) => Promise<Buffer>
  /** Passes it on to the API server as it is, once. */
  readonly up: (body?: Buffer) => Promise<UpstreamAnswer>
}
