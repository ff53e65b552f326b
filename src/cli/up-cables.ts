/** The cables of the edges of `up`, as its control socket tells of them and changes them. */
import * as v from 'valibot'
import { type Cable, MAX_CABLE_DELAY_MS } from '../network/cable/cable.ts'
import { ExplainedError } from '../runtime/explained-error.ts'
import { MAX_DURATION_MS } from './config/values.ts'

export const cableEntry = v.object({
  node: v.string(),
  cable: v.picklist(['whole', 'cut']),
  since: v.string(),
  /** In milliseconds, for each direction. */
  delayMs: v.number(),
  /** Of the edge's link to the hub, which notices a cut some time after it. */
  link: v.string(),
  next: v.optional(v.object({ cable: v.picklist(['whole', 'cut']), at: v.string(), delayMs: v.number() })),
})

export type CableEntry = v.InferOutput<typeof cableEntry>

/** An edge of `up`, as far as it matters here. */
export interface CabledEdge {
  readonly name: string
  readonly cable: Cable
  readonly status: { readonly network: { readonly links: readonly { readonly state: string }[] } }
}

export function describeCables(edges: readonly CabledEdge[]): CableEntry[] {
  return edges.map(describe)
}

const milliseconds = (maxMs: number) =>
  v.pipe(v.string(), v.regex(/^\d{1,10}$/), v.transform(Number), v.maxValue(maxMs))

/** The words of a change: which edge, what becomes of its cable, after how long, and with which delay for each direction. */
const changeSchema = v.strictTuple([
  v.string(),
  v.picklist(['whole', 'cut']),
  milliseconds(MAX_DURATION_MS),
  milliseconds(MAX_CABLE_DELAY_MS),
])

export type CableWords = v.InferInput<typeof changeSchema>

/** Throws an `ExplainedError` that names the edges there are, where none has that name. */
export function changeCable(edges: readonly CabledEdge[], words: readonly string[]): CableEntry {
  const parsed = v.safeParse(changeSchema, words)
  if (!parsed.success) throw new ExplainedError(`the link cannot be changed so: ${v.summarize(parsed.issues)}`)
  const [node, to, afterMs, delayMs] = parsed.output
  const edge = edges.find(({ name }) => name === node)
  if (edge === undefined)
    throw new ExplainedError(`there is no edge ${node} here; there are ${edges.map(({ name }) => name).join(', ')}`)
  edge.cable.change({ isCut: to === 'cut', delayMs }, afterMs)
  return describe(edge)
}

function describe({ name, cable, status }: CabledEdge): CableEntry {
  const { state, since, delayMs, next } = cable.status
  const link = status.network.links.map((each) => each.state).join(', ')
  return {
    node: name,
    cable: state,
    since,
    delayMs,
    link,
    next: next && { cable: next.state, at: next.at, delayMs: next.delayMs },
  }
}
