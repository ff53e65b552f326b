/**
 * POST /edge.crt: a certificate for a key. Who presents a certificate renews it; who does not needs a token. Of the signing
 * request only the key and the node name count: whatever else it asks for, the hub's own answer stands.
 */

import type { CertificateRequest } from '../../identity/csr.ts'
import { attributeValues, formatName, userName } from '../../identity/distinguished-name.ts'
import { type JoinClaims, tokenCovers } from '../../identity/join-token.ts'
import { keyFingerprint } from '../../identity/keys.ts'
import { NODES_GROUP, nodeOfSubject } from '../../identity/node-name.ts'
import { HUB_PATHS } from '../../protocol/requests.ts'
import type { Clock } from '../../runtime/clock.ts'
import { claimByToken, type KeyFingerprint } from '../claims/claim.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type HubRequest, type HubResponse, pemResponse } from '../port/http-message.ts'
import type { Route } from '../port/http-routes.ts'
import type { WorkGate } from '../port/overload.ts'
import { checkPeer, type EdgePeer } from '../port/peer-check.ts'
import { Refusal } from '../refusal.ts'
import type { Attempt, Attempts } from './attempts.ts'
import { issueNodeCertificate, nodeCertificateValidity } from './issue-node-certificate.ts'
import { parseSigningRequest, readSigningRequestBody } from './signing-request.ts'

const nodeHeader = 'causeway-node'
const bearer = /^Bearer +([A-Za-z0-9._~+/=-]+) *$/i

export interface EdgeCertificateOptions {
  readonly clock: Clock
  readonly attempts: Attempts
  readonly gate: WorkGate
  /** Life of the certificates issued; never beyond the CA's own end. */
  readonly lifeMs: number
  /** How long past its end a certificate may still be renewed. */
  readonly graceMs: number
}

/** Takes the name for the key, if whoever asks may have it at that moment: by the records of the cluster, not by an earlier look. */
type TakeName = (node: string, key: KeyFingerprint, certificateEndsMs: number) => Promise<void>

export function edgeCertificateRoute(options: EdgeCertificateOptions): Route {
  return {
    method: 'POST',
    path: HUB_PATHS.edgeCertificate,
    handle: (request) => options.attempts.certificate(request, (attempt) => answer(options, request, attempt)),
  }
}

/**
 * Strangers are sent away before a byte of what they send is read, and a slow sender holds no place among the others. That
 * first look decides nothing: by the time a slow body is there, its sender may have been revoked.
 */
async function answer(options: EdgeCertificateOptions, request: HubRequest, attempt: Attempt): Promise<HubResponse> {
  const takeName =
    attempt.event === 'join'
      ? await holderOfToken(request, attempt)
      : await holderOfCertificate(options, request, attempt)
  const body = await readSigningRequestBody(request)
  return await options.gate.run(async () => {
    const signingRequest = await parseSigningRequest(request, body)
    const node = requestedNode(signingRequest)
    const key = keyFingerprint(signingRequest.publicKey)
    attempt.node ??= node
    attempt.key = key
    const authority = request.door.cluster.authority()
    const validity = nodeCertificateValidity(authority, options)
    await takeName(node, key, validity.notAfterMs)
    const { certificate, chainPem } = await issueNodeCertificate(authority, node, signingRequest.publicKey, validity)
    attempt.serial = certificate.serialNumber
    return pemResponse(chainPem, { [nodeHeader]: node })
  }, request.signal)
}

async function holderOfToken(request: HubRequest, attempt: Attempt): Promise<TakeName> {
  const { cluster } = request.door
  const token = await cluster.tokens.verify(bearerToken(request))
  attempt.tokenId = token.id
  return async (node, key, certificateEndsMs) => {
    if (!tokenCovers(token.node, node))
      throw new Refusal('token-for-other-node', `the token is for ${token.node}, not for ${node}`)
    await claimName(cluster, token, { node, key, certificateEndsMs })
  }
}

interface Wanted {
  readonly node: string
  readonly key: KeyFingerprint
  readonly certificateEndsMs: number
}

async function claimName({ claims, tokens, nodes }: Cluster, token: JoinClaims, wanted: Wanted): Promise<void> {
  const { node, key, certificateEndsMs } = wanted
  const joining = {
    node,
    key,
    // A pattern that happens to match only this name does not name it.
    token: { id: token.id, namesNode: token.node === node },
    nodeExists: await nodes.exists(node),
  }
  // A look ahead by what this hub knows, so that a refused join costs the token no use. The cluster decides below.
  claimByToken(claims.known(node), { ...joining, nowMs: 0 })
  await tokens.use(token, node, key)
  await claims.byToken({ ...joining, certificateEndsMs })
}

async function holderOfCertificate(
  { clock, graceMs }: EdgeCertificateOptions,
  { door, peer, headers }: HubRequest,
  attempt: Attempt,
): Promise<TakeName> {
  if (headers.authorization !== undefined)
    throw new Refusal(
      'bad-request',
      'present either a certificate, to renew it, or a token, to join; this request has both',
    )
  const check = (): Promise<EdgePeer> => checkPeer(peer, door.cluster, { clock, graceMs })
  attempt.node = (await check()).node
  return async (node, key, certificateEndsMs) => {
    const edge = await check()
    if (node !== edge.node)
      throw new Refusal('node-mismatch', `the certificate of node ${edge.node} renews that node only, not ${node}`)
    await door.cluster.claims.byRotation(node, edge.key, key, certificateEndsMs)
  }
}

function bearerToken({ headers }: HubRequest): string {
  const { authorization } = headers
  if (authorization === undefined)
    throw new Refusal(
      'token-missing',
      'to join, send a token (Authorization: Bearer JWT); to renew, present the certificate of the node',
    )
  const [, jwt] = bearer.exec(authorization) ?? []
  if (jwt === undefined) throw new Refusal('token-invalid', 'the Authorization header holds no bearer token')
  return jwt
}

/** The node named by the one common name of the request; its other attributes are wishes, and no business of the hub's. */
function requestedNode({ subject }: CertificateRequest): string {
  const [commonName, ...others] = attributeValues(subject, 'CN')
  const isAlone = commonName !== undefined && others.length === 0
  const node = isAlone ? nodeOfSubject(userName(commonName, [NODES_GROUP])) : undefined
  if (node !== undefined) return node
  throw new Refusal(
    'name-invalid',
    `the signing request is for "${formatName(subject)}"; it must have exactly one common name, of the form ` +
      'system:node:NAME, where NAME has lower case letters, digits, "-" and "." as the name of a Kubernetes node does',
  )
}
