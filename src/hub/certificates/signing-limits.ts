/**
 * How much a node may have the cluster sign. Each request is an object in the cluster, work for its signer and a certificate that
 * cannot be taken back, so that one node that asks without end must not use up what is there for all.
 */
import type { NodeBudgetLimits } from '../port/node-budget.ts'

/** Requests of one node in a row: two certificates, asked for again at every restart of a node that keeps crashing. */
export const SIGNING_BURST = 20
/** Between two requests after that. A node that waits for a slow signer asks for both its certificates every half minute. */
const SIGNING_INTERVAL_MS = 10_000
/** Requests of one node at a time: both certificates, each once more after a connection was lost. */
const MAX_SIGNINGS_PER_NODE = 4
/** Requests of all nodes that are worked on, most of the time by waiting for the signer. */
export const MAX_SIGNINGS_IN_FLIGHT = 256
/** Those that wait for their turn, with their request in memory; the rest is asked to come back. */
export const MAX_SIGNINGS_QUEUED = 1_000

export const signingLimits: NodeBudgetLimits = {
  what: 'certificates',
  burst: SIGNING_BURST,
  intervalMs: SIGNING_INTERVAL_MS,
  maxInFlight: MAX_SIGNINGS_PER_NODE,
}
