/** What the checks need of the status that the edge on this node tells. */
import * as v from 'valibot'
import { type DoctorReaders, unlessForbidden } from './finding.ts'

const healthSchema = v.object({ ok: v.boolean(), reason: v.optional(v.string()) })
const edgeSchema = v.object({
  node: v.string(),
  identity: v.optional(healthSchema),
  endpoint: v.optional(
    v.object({
      addresses: v.array(v.string()),
      port: v.number(),
      health: v.optional(healthSchema),
      /** Why an address is not served. */
      problems: v.optional(v.array(v.string()), []),
      /** The connections to the API server, each with what is wrong with it. */
      upstream: v.optional(v.object({ pools: v.array(v.object({ lastError: v.optional(v.string()) })) })),
      /** Absent where the edge keeps none. */
      kubeProxyToken: v.optional(v.object({ ends: v.optional(v.string()), problem: v.optional(v.string()) })),
    }),
  ),
  network: v.optional(
    v.object({
      links: v.array(v.object({ hub: v.string(), state: v.string(), lastError: v.optional(v.string()) })),
    }),
  ),
})
const statusSchema = v.object({ edge: edgeSchema })

export type DoctorEdge = v.InferOutput<typeof edgeSchema>

/** Rejects with the reason if nobody runs there, or it is no edge. */
export async function askEdge(readers: DoctorReaders): Promise<DoctorEdge> {
  return readEdge(await readers.status(), readers.dataDir)
}

function readEdge(status: unknown, dataDir: string): DoctorEdge {
  const parsed = v.safeParse(statusSchema, status)
  if (parsed.success) return parsed.output.edge
  throw new Error(`the process that uses ${dataDir} is no edge, or one of another version`)
}

/** `undefined` where nothing can be learnt; one check has told why already. Rejects if this user may not ask. */
export async function endpointIfKnown(readers: DoctorReaders): Promise<DoctorEdge['endpoint']> {
  return await askEdge(readers).then(({ endpoint }) => endpoint, unlessForbidden)
}

export type DoctorLink = NonNullable<DoctorEdge['network']>['links'][number]

export function isLinked({ state }: DoctorLink): boolean {
  return state === 'up' || state === 'handing-over'
}

/** None where nothing can be learnt. */
export async function linksIfKnown(readers: DoctorReaders): Promise<readonly DoctorLink[]> {
  return (await askEdge(readers).catch(unlessForbidden))?.network?.links ?? []
}

/** Why the edge does not reach the API server at this moment; `undefined` where it has not noticed, or cannot be asked. */
export async function upstreamProblem(readers: DoctorReaders): Promise<string | undefined> {
  const status = await readers.statusNow().catch(unlessForbidden)
  if (status === undefined) return undefined
  const pools = readEdge(status, readers.dataDir).endpoint?.upstream?.pools ?? []
  const problems = new Set(pools.flatMap(({ lastError }) => lastError ?? []))
  return problems.size === 0 ? undefined : [...problems].join('; ')
}
