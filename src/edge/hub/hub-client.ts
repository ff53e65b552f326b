/**
 * What an edge asks of its hubs. Every call is one request to the hub that answered last; one that cannot be reached, or is
 * too busy, is passed over for the next. All requests may be repeated: a hub answers the same key in the same way.
 */

import * as v from 'valibot'
import { type Certificate, readCertificates } from '../../identity/certificate.ts'
import type { Dial } from '../../kube/client/connector.ts'
import type { ClientPair } from '../../network/tls/client-tls.ts'
import {
  type CertificatePurpose,
  certificatePath,
  HUB_PATHS,
  MAX_GROUP_VERSION_CHARACTERS,
  MAX_TOLD_GROUP_VERSIONS,
  PEM_MEDIA_TYPE,
} from '../../protocol/requests.ts'
import type { Clock } from '../../runtime/clock.ts'
import { HubError, networkError } from './hub-error.ts'
import { exchange, type HubAnswer, type HubRequest, type HubTrust } from './hub-exchange.ts'

/** Longer than the hub's own long poll, so that the hub is the one to say that it takes longer. */
const CERTIFICATE_ANSWER_TIMEOUT_MS = 90_000
/** A hub may ask for patience up to this; what is more is taken for a mistake. */
export const MAX_HUB_RETRY_AFTER_MS = 300_000
/** Cross-certificates that are read of the hub's list. Reading one takes milliseconds, in which the node is not served. */
export const MAX_CROSS_CERTIFICATES = 16
/** Characters of the reason that a hub gives for a refusal: it is shown in logs, in health and on terminals. */
export const MAX_REFUSAL_TEXT_CHARACTERS = 1_024
/** Names that a hub may want in a certificate of the node, of each kind: some for each address of the endpoint. */
export const MAX_CERTIFICATE_NAMES = 256
/** Where a hub wants to be asked again and does not say when. */
export const DEFAULT_PENDING_RETRY_MS = 2_000

export interface HubClientOptions {
  readonly hubs: readonly [URL, ...URL[]]
  readonly clock: Clock
  /** The CAs of the hub, pinned when the edge joined; asked for every connection, like the pair. */
  readonly trust: () => readonly Certificate[]
  /** What to present as a client. */
  readonly pair?: () => ClientPair | undefined
  readonly dial?: Dial | undefined
}

/** Kubernetes certificates that a hub gets for a node. */

const nodeStatus = v.object({
  node: v.string(),
  key: v.string(),
  certificateEnds: v.string(),
  /** The CAs to trust from now on, in PEM. */
  hubCa: v.optional(v.string()),
  /** What makes those CAs trustworthy to who trusts the ones before, in PEM; empty if nothing is needed. */
  crossCertificates: v.optional(v.string()),
})

export interface NodeStatus extends Omit<v.InferOutput<typeof nodeStatus>, 'crossCertificates'> {
  /** The cross-certificates, and what came along with the certificate of the hub, where they are found as well. */
  readonly vouchers: readonly Certificate[]
  readonly hubTimeMs: number | undefined
}

const names = v.pipe(v.array(v.pipe(v.string(), v.maxLength(253))), v.maxLength(MAX_CERTIFICATE_NAMES))

const certificateContent = v.object({
  subject: v.object({ commonName: v.string(), organizations: v.array(v.string()) }),
  dnsNames: names,
  ipAddresses: names,
  expirationSeconds: v.number(),
})
/** What a request for a Kubernetes certificate must say, word for word, for the hub to pass it on. */
export type CertificateContent = v.InferOutput<typeof certificateContent>

const kubeProxyToken = v.object({ token: v.pipe(v.string(), v.minLength(1)), expires: v.string() })
/** A token of the ServiceAccount under which kube-proxy works, and its end in RFC 3339. */
export type KubeProxyToken = v.InferOutput<typeof kubeProxyToken>

const groupVersion = v.pipe(v.string(), v.maxLength(MAX_GROUP_VERSION_CHARACTERS))
export const GROUP_VERSIONS = v.pipe(v.array(groupVersion), v.maxLength(MAX_TOLD_GROUP_VERSIONS))
const apiGroups = v.object({ local: GROUP_VERSIONS })

export class HubClient {
  readonly #options: HubClientOptions
  readonly #preferred = { index: 0 }

  constructor(options: HubClientOptions) {
    this.#options = options
  }

  /** A certificate for a new node. The answer is PEM that nobody has checked yet. */
  async join(requestPem: string, jwt: string, signal?: AbortSignal): Promise<string> {
    const headers = { ...pemBody, authorization: `Bearer ${jwt}` }
    return text(
      await this.#ask({ method: 'POST', path: HUB_PATHS.edgeCertificate, headers, body: requestPem }, 'none', signal),
    )
  }

  /** A certificate for the next key of the node whose certificate is presented. */
  async renew(requestPem: string, signal?: AbortSignal): Promise<string> {
    return text(
      await this.#ask(
        { method: 'POST', path: HUB_PATHS.edgeCertificate, headers: pemBody, body: requestPem },
        'own',
        signal,
      ),
    )
  }

  async kubernetesCa(signal?: AbortSignal): Promise<string> {
    return text(await this.#ask({ method: 'GET', path: HUB_PATHS.kubernetesCa }, 'none', signal))
  }

  /** Shows the present certificate in use. */
  async checkIn(signal?: AbortSignal): Promise<NodeStatus> {
    const answer = await this.#ask({ method: 'GET', path: HUB_PATHS.node }, 'own', signal)
    const { crossCertificates = '', ...status } = readJson(answer, nodeStatus)
    const vouchers = [...readVouchers(crossCertificates), ...answer.sentAlong]
    return { ...status, vouchers, hubTimeMs: answer.hubTimeMs }
  }

  async certificateContent(purpose: CertificatePurpose, signal?: AbortSignal): Promise<CertificateContent> {
    const answer = await this.#ask({ method: 'GET', path: certificatePath(purpose) }, 'own', signal)
    return readJson(answer, certificateContent)
  }

  /** Waits until the cluster has signed, however long that takes. */
  async kubernetesCertificate(purpose: CertificatePurpose, requestPem: string, signal?: AbortSignal): Promise<string> {
    const path = certificatePath(purpose)
    const answerTimeoutMs = CERTIFICATE_ANSWER_TIMEOUT_MS
    const request: HubRequest = { method: 'POST', path, headers: pemBody, body: requestPem, answerTimeoutMs }
    for (;;) {
      const answer = await this.#ask(request, 'own', signal)
      if (answer.status !== 202) return text(answer)
      await this.#options.clock.sleep(retryAfterMs(answer) ?? DEFAULT_PENDING_RETRY_MS, signal)
    }
  }

  async kubeProxyToken(signal?: AbortSignal): Promise<KubeProxyToken> {
    return readJson(await this.#ask({ method: 'POST', path: HUB_PATHS.kubeProxyToken }, 'own', signal), kubeProxyToken)
  }

  /** The group versions that the API server serves itself, as far as the hub knows. */
  async localGroupVersions(signal?: AbortSignal): Promise<readonly string[]> {
    return readJson(await this.#ask({ method: 'GET', path: HUB_PATHS.apiGroups }, 'own', signal), apiGroups).local
  }

  async #ask(request: HubRequest, as: 'none' | 'own', signal: AbortSignal | undefined): Promise<HubAnswer> {
    const { hubs, clock, trust, dial } = this.#options
    const pair = as === 'own' ? this.#options.pair?.() : undefined
    return await askInTurn(hubs, this.#preferred, async (hub) =>
      accepted(await exchange(hub, request, { clock, trust: trust(), pair, dial, signal })),
    )
  }
}

const pemBody = { 'content-type': PEM_MEDIA_TYPE }

export interface UnverifiedCa {
  readonly pem: string
  /** The clock of whoever answered: good for a hint, never for a decision. */
  readonly hubTimeMs: number | undefined
}

/** The hub's CA from whoever answers at that address. Worth nothing before its hash was compared. */
export async function fetchUnverifiedCa(
  options: Omit<HubClientOptions, 'trust' | 'pair'> & { readonly signal?: AbortSignal | undefined },
): Promise<UnverifiedCa> {
  const { hubs, clock, dial, signal } = options
  const trust: HubTrust = 'unverified'
  const request: HubRequest = { method: 'GET', path: '/ca.crt' }
  const answer = await askInTurn(hubs, { index: 0 }, async (hub) =>
    accepted(await exchange(hub, request, { clock, trust, dial, signal })),
  )
  return { pem: text(answer), hubTimeMs: answer.hubTimeMs }
}

/** The gravest failure speaks for all: a hub that said no knows more than one that could not be reached. */
const gravity = { refusal: 2, tls: 1, network: 0 } as const

async function askInTurn<T>(
  hubs: readonly URL[],
  preferred: { index: number },
  ask: (hub: URL) => Promise<T>,
): Promise<T> {
  const failures: HubFailure[] = []
  for (let tried = 0; tried < hubs.length; tried++) {
    const index = (preferred.index + tried) % hubs.length
    const hub = hubs[index]
    if (hub === undefined) break
    try {
      const answer = await ask(hub)
      preferred.index = index
      return answer
    } catch (error) {
      if (!(error instanceof HubError) || (error.kind === 'refusal' && !error.retryable)) throw error
      failures.push({ hub, error })
    }
  }
  throw together(failures)
}

interface HubFailure {
  readonly hub: URL
  readonly error: HubError
}

function together(failures: readonly HubFailure[]): HubError {
  const errors = failures.map(({ error }) => error)
  const [gravest, ...others] = errors.toSorted((a, b) => gravity[b.kind] - gravity[a.kind])
  if (gravest === undefined) return networkError('unreachable', 'there is no hub to ask')
  if (others.length === 0) return gravest
  // What never reached a hub names its address already.
  const all = failures.map(({ hub, error }) => `${error.kind === 'refusal' ? `${hub.origin}: ` : ''}${error.message}`)
  const { kind, code, retryAfterMs, hubTimeMs, details } = gravest
  const retryable = errors.some((each) => each.retryable)
  const options = { retryable, retryAfterMs, hubTimeMs, details, cause: gravest }
  return new HubError(kind, code, `none of ${all.length} hubs could be used: ${all.join('; ')}`, options)
}

const refusal = v.looseObject({ code: v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,64}$/)), message: v.string() })

function accepted(answer: HubAnswer): HubAnswer {
  const { status } = answer
  if (status === 200 || status === 202) return answer
  const { code, message, ...details } = parseJson(answer, refusal) ?? {
    code: `http-${status}`,
    message: `the answer is HTTP ${status} without the reason a hub would give; is there something between us and the hub?`,
  }
  const retryable = status === 408 || status === 429 || status >= 500
  const options = { retryable, retryAfterMs: retryAfterMs(answer), hubTimeMs: answer.hubTimeMs, details }
  throw new HubError('refusal', code, message.slice(0, MAX_REFUSAL_TEXT_CHARACTERS), options)
}

function retryAfterMs({ headers }: HubAnswer): number | undefined {
  const seconds = Number(headers['retry-after'] ?? Number.NaN)
  return seconds >= 0 ? Math.min(seconds * 1000, MAX_HUB_RETRY_AFTER_MS) : undefined
}

function text({ body }: HubAnswer): string {
  return body.toString('latin1')
}

function readVouchers(pem: string): readonly Certificate[] {
  try {
    return pem === '' ? [] : readCertificates(pem, "the hub's list of cross-certificates", MAX_CROSS_CERTIFICATES)
  } catch (cause) {
    throw networkError('protocol', (cause as Error).message, { cause })
  }
}

function readJson<T>(answer: HubAnswer, schema: v.GenericSchema<unknown, T>): T {
  const value = parseJson(answer, schema)
  if (value === undefined) throw networkError('protocol', 'the hub answered in a form this version does not understand')
  return value
}

function parseJson<T>({ body }: HubAnswer, schema: v.GenericSchema<unknown, T>): T | undefined {
  try {
    const parsed = v.safeParse(schema, JSON.parse(body.toString('utf8')))
    return parsed.success ? parsed.output : undefined
  } catch {
    return undefined
  }
}
