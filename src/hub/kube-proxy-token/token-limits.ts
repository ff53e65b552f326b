/** How often a node may have a token made: none of them can be taken back, so a node gets few more than it can use. */
import type { NodeBudgetLimits } from '../port/node-budget.ts'

/** Tokens of one node in a row: a node that keeps crashing before it has written one asks again at every start. */
export const TOKEN_BURST = 10
/** Between two tokens after that; a node needs one in twelve hours. */
const TOKEN_INTERVAL_MS = 300_000
/** Requests of one node at a time: one, and another after a connection was lost. */
const MAX_TOKENS_PER_NODE = 2
/** Requests to the API server for all nodes at a time. */
export const MAX_TOKENS_IN_FLIGHT = 32
/** Nodes that wait for their turn; the rest is asked to come back. */
export const MAX_TOKENS_QUEUED = 1_000

export const tokenLimits: NodeBudgetLimits = {
  what: 'tokens',
  burst: TOKEN_BURST,
  intervalMs: TOKEN_INTERVAL_MS,
  maxInFlight: MAX_TOKENS_PER_NODE,
}
