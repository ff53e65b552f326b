/** Where an edge serves the Kubernetes API, as its running process tells through the control socket. */
import { isIPv6 } from 'node:net'
import * as v from 'valibot'
import { isAlwaysThere } from '../../edge/network/bind-address.ts'
import { CommandError } from '../failure.ts'

const endpointSchema = v.object({ addresses: v.array(v.string()), port: v.number() })
const edgeSchema = v.object({ node: v.string(), endpoint: v.optional(endpointSchema) })
/** An edge tells about itself, `up` about all it runs; any other role about none. */
const statusSchema = v.object({
  role: v.optional(v.string()),
  edge: v.optional(edgeSchema),
  edges: v.optional(v.array(edgeSchema), []),
})

export type ReportedEdge = v.InferOutput<typeof edgeSchema>

export interface EndpointAddress {
  readonly host: string
  readonly port: number
}

/** The edges that a status tells of; `undefined` if it has a form that this version does not know. */
export function readEdges(status: unknown): readonly ReportedEdge[] | undefined {
  const parsed = v.safeParse(statusSchema, status)
  if (!parsed.success) return undefined
  const { edge, edges } = parsed.output
  return edge === undefined ? edges : [edge, ...edges]
}

/** The edge of that name, or the only one. */
export function chooseEdge(status: unknown, node: string | undefined, dataDir: string): ReportedEdge {
  const edges = readEdges(status)
  if (edges === undefined)
    throw new CommandError(`the process that uses ${dataDir} is of another version of causeway: its status is unknown`)
  const names = edges.map((edge) => edge.node).join(', ')
  if (names === '')
    throw new CommandError(
      `the process that uses ${dataDir} runs no edge; name the folder of one, or of "causeway up", with --data-dir`,
    )
  const [first, ...others] = node === undefined ? edges : edges.filter((edge) => edge.node === node)
  if (first === undefined) throw new CommandError(`${dataDir} has no edge ${node}; it has ${names}`)
  if (others.length > 0) throw new CommandError(`${dataDir} has several edges; choose one with --node: ${names}`)
  return first
}

/** As pods on that edge reach it; loopback where it has nothing else. */
export function endpointOf({ node, endpoint }: ReportedEdge): EndpointAddress {
  const [first] = endpoint?.addresses ?? []
  if (endpoint === undefined || first === undefined)
    throw new CommandError(
      `${node} serves no endpoint at the moment: it needs a serving certificate first; "causeway doctor" tells more`,
    )
  const host = endpoint.addresses.find((address) => !isAlwaysThere(address)) ?? reachable(first)
  return { host, port: endpoint.port }
}

/** Who listens everywhere cannot be dialled at "everywhere". */
export function reachable(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1'
  return address === '::' ? '::1' : address
}

export function endpointUrl({ host, port }: EndpointAddress): string {
  return `https://${isIPv6(host) ? `[${host}]` : host}:${port}`
}
