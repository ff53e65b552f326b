/** The way to the machines: what a request for logs, exec or a proxy turns into once it is known where it must go. */
import { ApiError } from '../../../kube/status/status.ts'
import type { RequestContext } from '../../request/handler.ts'

export type Destination =
  /** The kubelet of a node, at a path of its own API. Queries are as they stand in a URL. */
  | { readonly to: 'kubelet'; readonly node: string; readonly path: string; readonly query: string }
  /** A port that answers HTTP: of a pod, of a node, of a pod behind a service. An empty port is the scheme's own. */
  | {
      readonly to: 'address'
      readonly scheme: 'http' | 'https'
      readonly host: string
      readonly port: string
      readonly path: string
      readonly query: string
    }

export interface NodeConnector {
  /** Carries the exchange there and back, upgrades included; an ApiError says why it could not. */
  connect(context: RequestContext, destination: Destination): Promise<void>
}

/**
 * Not a 503: those carry a Retry-After, and kubectl would ask ten times over.
 */
export function noWayTo(what: string): ApiError {
  return new ApiError({
    code: 501,
    message: `this server has no connection to ${what}: no tunnel to its nodes is set up`,
  })
}
