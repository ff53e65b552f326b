/** Numbers about the endpoint. No client can make a label: verbs, groups, classes and codes come from short lists. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { RequestInfo } from '../../kube/request-info.ts'

/** `refused`: turned away by the endpoint itself before it asked the API server. */
export type ClientClass = 'node' | 'service-account' | 'token' | 'anonymous' | 'refused'

export interface EndpointNumbers {
  readonly connections: number
  readonly shortRequests: number
  readonly longRequests: number
  readonly upgrades: number
}

export interface EndedRequest {
  readonly info: RequestInfo | undefined
  readonly clientClass: ClientClass
  /** Undefined: the client went away before there was an answer. */
  readonly code: number | undefined
  /** From the request to the head of the answer; undefined where there was none, or where waiting is its purpose. */
  readonly answeredInSeconds: number | undefined
  readonly fromClientBytes: number
  readonly toClientBytes: number
}

export interface EndpointMetrics {
  ended(request: EndedRequest): void
  upgraded(protocol: string, fromClientBytes: number, toClientBytes: number): void
  limited(limit: string): void
  handshakeFailed(): void
  connectionRefused(): void
  readerStalled(): void
}

const requestLabels = ['verb', 'group', 'client', 'code'] as const

export function createEndpointMetrics(registry: Registry, numbers: () => EndpointNumbers): EndpointMetrics {
  const registers = [registry]
  addGauges(registers, numbers)
  const { requests, durations, bytes, upgrades, limited, connections } = createCounters(registers)
  const count = (fromClientBytes: number, toClientBytes: number): void => {
    if (fromClientBytes > 0) bytes.inc({ direction: 'up' }, fromClientBytes)
    if (toClientBytes > 0) bytes.inc({ direction: 'down' }, toClientBytes)
  }
  return {
    ended: ({ info, clientClass, code, answeredInSeconds, fromClientBytes, toClientBytes }) => {
      const verb = verbLabel(info)
      requests.inc({ verb, group: groupLabel(info), client: clientClass, code: codeLabel(code) })
      if (answeredInSeconds !== undefined) durations.observe({ verb }, answeredInSeconds)
      count(fromClientBytes, toClientBytes)
    },
    upgraded: (protocol, fromClientBytes, toClientBytes) => {
      upgrades.inc({ protocol: protocolLabel(protocol) })
      count(fromClientBytes, toClientBytes)
    },
    limited: (limit) => limited.inc({ limit }),
    handshakeFailed: () => connections.inc({ reason: 'handshake' }),
    connectionRefused: () => connections.inc({ reason: 'limit' }),
    readerStalled: () => connections.inc({ reason: 'stalled' }),
  }
}

function createCounters(registers: Registry[]) {
  return {
    requests: new Counter({
      name: 'causeway_edge_endpoint_requests_total',
      help: 'Requests by verb, API group, client (node, service-account, token, anonymous, refused) and class of the answer.',
      labelNames: requestLabels,
      registers,
    }),
    durations: new Histogram({
      name: 'causeway_edge_endpoint_answer_seconds',
      help: 'Time to the head of the answer, by verb; without watches and other long requests.',
      labelNames: ['verb'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    bytes: new Counter({
      name: 'causeway_edge_endpoint_bytes_total',
      help: 'Bytes of bodies and upgraded connections that have ended, by direction: up (from clients) or down.',
      labelNames: ['direction'],
      registers,
    }),
    upgrades: new Counter({
      name: 'causeway_edge_endpoint_upgrades_total',
      help: 'Connections that switched protocols and have ended, by protocol: websocket, spdy or other.',
      labelNames: ['protocol'],
      registers,
    }),
    limited: new Counter({
      name: 'causeway_edge_endpoint_limited_total',
      help: 'Requests held back for their caller: delayed, or refused by rate, in-flight, long-running or upgrades.',
      labelNames: ['limit'],
      registers,
    }),
    connections: new Counter({
      name: 'causeway_edge_endpoint_connections_refused_total',
      help: 'Connections that never came to a request (handshake, limit) or were cut because the client does not read (stalled).',
      labelNames: ['reason'],
      registers,
    }),
  }
}

function addGauges(registers: Registry[], numbers: () => EndpointNumbers): void {
  const inFlight = new Gauge({
    name: 'causeway_edge_endpoint_requests_in_flight',
    help: 'Requests under way by kind: short, long (watches, logs) or upgrade.',
    labelNames: ['kind'],
    registers,
    collect: () => {
      const { shortRequests, longRequests, upgrades } = numbers()
      inFlight.set({ kind: 'short' }, shortRequests)
      inFlight.set({ kind: 'long' }, longRequests)
      inFlight.set({ kind: 'upgrade' }, upgrades)
    },
  })
  const connections = new Gauge({
    name: 'causeway_edge_endpoint_connections',
    help: 'Open connections of clients.',
    registers,
    collect: () => {
      connections.set(numbers().connections)
    },
  })
}

const methods = new Set(['get', 'head', 'post', 'put', 'patch', 'delete', 'options'])

export function verbLabel(info: RequestInfo | undefined): string {
  if (info === undefined) return 'other'
  if (info.kind === 'resource') return info.verb === '' ? 'other' : info.verb
  return methods.has(info.verb) ? info.verb : 'other'
}

/** Groups that Kubernetes itself serves end so, or are these. */
const bareGroups = new Set(['apps', 'autoscaling', 'batch', 'extensions', 'policy'])
const groupPrefixes =
  'admissionregistration apiextensions apiregistration authentication authorization certificates coordination discovery ' +
  'events flowcontrol internal.apiserver metrics networking node rbac.authorization resource scheduling storage storagemigration'
const kubernetesGroups = new Set([...bareGroups, ...groupPrefixes.split(' ').map((prefix) => `${prefix}.k8s.io`)])

export function groupLabel(info: RequestInfo | undefined): string {
  if (info?.kind !== 'resource') return 'none'
  if (info.apiGroup === '') return 'core'
  return kubernetesGroups.has(info.apiGroup) ? info.apiGroup : 'other'
}

function codeLabel(code: number | undefined): string {
  return code === undefined ? 'gone' : `${Math.floor(code / 100)}xx`
}

function protocolLabel(protocol: string): string {
  const name = protocol.toLowerCase()
  return name === 'websocket' ? name : name.startsWith('spdy/') ? 'spdy' : 'other'
}
