/** What subresources are made from. */
import type { Clock } from '../../../runtime/clock.ts'
import type { Authorizer } from '../../request/authorizer.ts'
import type { Reader } from '../read.ts'
import type { Writer } from '../write/writer.ts'
import type { NodeConnector } from './node-connector.ts'

export interface SubresourceParts {
  readonly reader: Reader
  readonly writer: Writer
  readonly clock: Clock
  /** Absent while nothing leads to the nodes: requests that need one are then refused, not faked. */
  readonly nodes: NodeConnector | undefined
  readonly authorizer: Authorizer
}
