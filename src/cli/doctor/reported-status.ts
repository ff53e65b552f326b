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
  const parsed = v.safeParse(statusSchema, await readers.status())
  if (parsed.success) return parsed.output.edge
  throw new Error(`the process that uses ${readers.dataDir} is no edge, or one of another version`)
}

/** `undefined` where nothing can be learnt; one check has told why already. Rejects if this user may not ask. */
export async function endpointIfKnown(readers: DoctorReaders): Promise<DoctorEdge['endpoint']> {
  return await askEdge(readers).then(({ endpoint }) => endpoint, unlessForbidden)
}
