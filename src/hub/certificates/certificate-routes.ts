/** `/v1/certificates/serving` and `/client`: what a node may have the cluster sign, and having it signed. */
import { CERTIFICATE_PURPOSES, type CertificatePurpose, certificatePath } from '../../protocol/requests.ts'
import type { Clock } from '../../runtime/clock.ts'
import { parseSigningRequest, readSigningRequestBody } from '../join/signing-request.ts'
import type { ClusterDoor } from '../port/connection.ts'
import { type HubRequest, type HubResponse, jsonResponse, pemResponse } from '../port/http-message.ts'
import type { Route } from '../port/http-routes.ts'
import type { NodeBudget, NodeBudgetLimits } from '../port/node-budget.ts'
import type { WorkGate } from '../port/overload.ts'
import { checkPeer, type EdgePeer } from '../port/peer-check.ts'
import { onBehalfOfEdge } from '../shared/cluster-error.ts'
import type { NodeCertificates } from './node-certificates.ts'
import { describeContent } from './template.ts'

/** A signer that did not answer one long wait is slow or absent; asking at once again would only keep both busy. */
const PENDING_RETRY_AFTER_SECONDS = 2

/** For the body of a slow client, the wait for the signer, and the API server's own answers. */
const SIGNING_TIMEOUT_MS = 60_000

/** Requests of one node in a row: two certificates, asked for again at every restart of a node that keeps crashing. */
export const SIGNING_BURST = 20
/** Between two requests of one node, once the burst is used up. A node that waits for a slow signer asks for both its certificates every half minute. */
const SIGNING_INTERVAL_MS = 10_000
/** Requests of one node at a time: both certificates, each once more after a connection was lost. */
const MAX_SIGNINGS_PER_NODE = 4
/** Requests of all nodes that are worked on, most of the time by waiting for the signer. */
export const MAX_SIGNINGS_IN_FLIGHT = 256
/** Requests of all nodes that wait for their turn, in memory; the rest is asked to come back. */
export const MAX_SIGNINGS_QUEUED = 1_000

/**
 * How much a node may have the cluster sign. Each request is an object in the cluster, work for its signer and a certificate that
 * cannot be taken back, so that one node that asks without end must not use up what is there for all.
 */
export const signingLimits: NodeBudgetLimits = {
  what: 'certificates',
  burst: SIGNING_BURST,
  intervalMs: SIGNING_INTERVAL_MS,
  maxInFlight: MAX_SIGNINGS_PER_NODE,
}

export interface CertificateRoutesOptions {
  readonly clock: Clock
  readonly budget: NodeBudget
  readonly gate: WorkGate
  certificatesOf(door: ClusterDoor): NodeCertificates
}

export function certificateRoutes(options: CertificateRoutesOptions): Route[] {
  return CERTIFICATE_PURPOSES.flatMap((purpose): Route[] => {
    const path = certificatePath(purpose)
    return [
      { method: 'GET', path, handle: (request) => tell(options, purpose, request) },
      { method: 'POST', path, timeoutMs: SIGNING_TIMEOUT_MS, handle: (request) => sign(options, purpose, request) },
    ]
  })
}

async function tell(
  options: CertificateRoutesOptions,
  purpose: CertificatePurpose,
  request: HubRequest,
): Promise<HubResponse> {
  const { node } = await checkPeer(request.peer, request.door.cluster, options)
  const content = await onBehalfOfEdge(() => options.certificatesOf(request.door).content(node, purpose))
  return jsonResponse(200, describeContent(content))
}

/** Who asks is looked at again whenever time has passed: a forgotten node gets nothing that it asked for before. */
async function sign(
  options: CertificateRoutesOptions,
  purpose: CertificatePurpose,
  request: HubRequest,
): Promise<HubResponse> {
  const { door, peer, signal } = request
  const check = (): Promise<EdgePeer> => checkPeer(peer, door.cluster, options)
  const { node } = await check()
  const leave = options.budget.enter(door.cluster.name, node)
  try {
    const body = await readSigningRequestBody(request)
    const pem = await options.gate.run(async () => {
      const signingRequest = await parseSigningRequest(request, body)
      await check()
      return await onBehalfOfEdge(() => options.certificatesOf(door).request(node, purpose, signingRequest, signal))
    }, signal)
    await check()
    return pem === undefined ? pending() : pemResponse(pem)
  } finally {
    leave()
  }
}

function pending(): HubResponse {
  const message = 'the cluster has not signed the certificate yet; send the same request again'
  return jsonResponse(202, { code: 'pending', message }, { 'retry-after': `${PENDING_RETRY_AFTER_SECONDS}` })
}
