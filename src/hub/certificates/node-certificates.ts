/**
 * Certificates that the cluster signs for a node, asked for through the hub. A request is an object in the cluster from its
 * first moment, found again by its content: asking twice, on any hub, goes on waiting for the same one.
 */

import { readCertificates } from '../../identity/certificate.ts'
import type { CertificateRequest } from '../../identity/csr.ts'
import { keyMatchesCertificate } from '../../identity/keys.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { certificateSigningRequests, services } from '../../kube/client/kinds.ts'
import type { CertificateSigningRequest } from '../../kube/client/types.ts'
import { isAlreadyExists } from '../../kube/status/predicates.ts'
import type { CertificatePurpose } from '../../protocol/requests.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { Refusal } from '../refusal.ts'
import type { CsrKeeper } from './csr-keeper.ts'
import { csrName, csrObject, outcomeOf } from './csr-object.ts'
import type { CertificateMetrics } from './metrics.ts'
import { type CertificateContent, checkRequest, clientContent, servingContent } from './template.ts'

/** How long one request waits for the cluster's signer. Below the minute after which proxies cut silent connections. */
const ISSUE_WAIT_MS = 25_000

export interface ContentOptions {
  readonly client: KubeClient
  /** Life of the certificates; the cluster's signer may shorten it. */
  readonly lifeSeconds: number
  readonly clusterDomain: string
  /** Where the endpoint of a node may be reached: the node's group decides. */
  readonly endpointAddressesOf: (node: string) => readonly string[]
}

/** What the certificate of a node has to say, with the cluster's own addresses as they are now. */
export async function contentFor(
  options: ContentOptions,
  node: string,
  purpose: CertificatePurpose,
): Promise<CertificateContent> {
  const { client, lifeSeconds, clusterDomain } = options
  if (purpose === 'client') return clientContent(node, lifeSeconds)
  const { spec } = await client.resource(services).in('default').get('kubernetes')
  const clusterIps = (spec?.clusterIPs ?? [spec?.clusterIP ?? '']).filter(
    (address) => address !== '' && address !== 'None',
  )
  const endpointAddresses = options.endpointAddressesOf(node)
  return servingContent(node, lifeSeconds, { endpointAddresses, clusterIps, clusterDomain })
}

export interface NodeCertificatesOptions extends ContentOptions {
  readonly ownUser: string
  readonly keeper: CsrKeeper
  readonly clock: Clock
  readonly audit: Logger
  readonly metrics: CertificateMetrics
}

export class NodeCertificates {
  readonly #options: NodeCertificatesOptions

  constructor(options: NodeCertificatesOptions) {
    this.#options = options
  }

  async content(node: string, purpose: CertificatePurpose): Promise<CertificateContent> {
    return await contentFor(this.#options, node, purpose)
  }

  /** The issued certificate in PEM; `undefined` if the cluster needs more time. Repeat the call to go on waiting. */
  async request(
    node: string,
    purpose: CertificatePurpose,
    request: CertificateRequest,
    gone: AbortSignal,
  ): Promise<string | undefined> {
    const { metrics, keeper, clock } = this.#options
    const content = await this.content(node, purpose)
    checkRequest(request, content)
    const object = await this.#createOrFind(content, request)
    const patience = new AbortController()
    const finished = new AbortController()
    clock.sleep(ISSUE_WAIT_MS, finished.signal).then(
      () => patience.abort(),
      () => {},
    )
    const settled = await keeper.settled(object, AbortSignal.any([gone, patience.signal]))
    finished.abort()
    const outcome = outcomeOf(settled)
    if (outcome.state === 'issued') return this.#issued(content, request, settled, outcome.certificatePem)
    if (outcome.state === 'refused') {
      metrics.requested(purpose, 'refused')
      throw new Refusal('not-issued', `the cluster did not sign ${object.metadata?.name}: ${outcome.message}`)
    }
    metrics.requested(purpose, 'pending')
    return undefined
  }

  async #createOrFind(content: CertificateContent, request: CertificateRequest): Promise<CertificateSigningRequest> {
    const { client, ownUser, audit } = this.#options
    const csrs = client.resource(certificateSigningRequests)
    const name = csrName(content, request)
    try {
      const created = await csrs.create(csrObject(content, request))
      audit.info(
        { event: 'csr-created', csr: name, node: content.node, purpose: content.purpose },
        'signing request created',
      )
      return created
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
    const found = await csrs.get(name)
    if (found.spec.username === ownUser) return found
    throw new Refusal(
      'not-issued',
      `${found.spec.username || 'somebody'} created the signing request ${name} in our place`,
    )
  }

  #issued(
    { node, purpose }: CertificateContent,
    request: CertificateRequest,
    csr: CertificateSigningRequest,
    pem: string,
  ): string {
    const [certificate] = readCertificates(pem, `the certificate in ${csr.metadata?.name}`)
    if (!keyMatchesCertificate(request.publicKey, certificate))
      throw new Refusal('not-issued', `the cluster signed another key than that of ${csr.metadata?.name}`)
    const { serialNumber, notAfterMs } = certificate
    this.#options.metrics.requested(purpose, 'issued')
    this.#options.audit.info(
      { event: 'node-certificate-issued', node, purpose, serialNumber, ends: new Date(notAfterMs).toISOString() },
      'certificate of the cluster handed to a node',
    )
    return pem
  }
}
