/** What one node, and all nodes together, may have of a hub. Crossing one ends or refuses whoever crosses it. */

/** Sessions of one node that take new streams: one for each address of the hub, and one more while handing over. */
const MAX_SESSIONS_PER_NODE = 4
/** Further ones that only finish what they have; beyond it the oldest is cut off. */
const MAX_DRAINING_SESSIONS_PER_NODE = 4
/** Sessions of all nodes together: what one hub of the size we promise serves. */
export const MAX_SESSIONS = 20_000
/** Streams of one node in all its sessions, both ways: as many as one session may have. */
const MAX_STREAMS_PER_NODE = 16_384
/** Streams one node may open per second in all its sessions: what one session may, so that more sessions bring nothing. */
export const MAX_OPENS_PER_SECOND_PER_NODE = 10_000

/** For the cluster to say whether a certificate still counts; a session does not begin before. */
export const CHECK_IN_TIMEOUT_MS = 15_000
/** How long streams may go on in a session that takes no new ones: a long `kubectl logs -f`, but not for ever. */
export const SESSION_DRAIN_MS = 60 * 60 * 1000
/** How often each session is held against the claim on its name, should a change have been missed. */
export const SESSION_RECHECK_MS = 5_000
/** How long an edge may take to replace its sessions once its renewed certificate was seen; then the old ones are drained. */
export const ROTATED_KEY_GRACE_MS = 60_000

export interface NodeLimits {
  readonly maxSessionsPerNode: number
  readonly maxDrainingSessionsPerNode: number
  readonly maxStreamsPerNode: number
  readonly maxOpensPerSecondPerNode: number
}

export const DEFAULT_NODE_LIMITS: NodeLimits = {
  maxSessionsPerNode: MAX_SESSIONS_PER_NODE,
  maxDrainingSessionsPerNode: MAX_DRAINING_SESSIONS_PER_NODE,
  maxStreamsPerNode: MAX_STREAMS_PER_NODE,
  maxOpensPerSecondPerNode: MAX_OPENS_PER_SECOND_PER_NODE,
}

/** As labels of a metric. */
export type SessionLimit =
  | 'sessions'
  | 'sessions-per-node'
  | 'draining-per-node'
  | 'streams-per-node'
  | 'opens-per-node'
