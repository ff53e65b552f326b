/**
 * A hub in one process, for the tests of edges: real TLS and HTTP on loopback, the hub's own rules for claims, no cluster.
 * Time is the test's; what the hub says and loses can be bent at every request.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { type Claim, claimByCertificate, claimByRotation, claimByToken } from '../../src/hub/claims/claim.ts'
import { Refusal } from '../../src/hub/refusal.ts'
import type { RequestedNames } from '../../src/identity/alternative-names.ts'
import { type Certificate, certificatePem } from '../../src/identity/certificate.ts'
import { readRequest } from '../../src/identity/csr.ts'
import { commonName, userName } from '../../src/identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  type CertificateTemplate,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from '../../src/identity/issue.ts'
import {
  caBundleSha256,
  caSha256,
  type JoinClaims,
  type JoinTokenError,
  mintJoinToken,
  tokenCovers,
  verifyJoinJwt,
} from '../../src/identity/join-token.ts'
import { generateKeys, keyFingerprint, privateKeyPem } from '../../src/identity/keys.ts'
import { nodeOfSubject, nodeSubject } from '../../src/identity/node-name.ts'
import { peerCertificates } from '../../src/identity/peer.ts'
import { verifyCertificate } from '../../src/identity/verify.ts'
import { listen } from '../../src/network/listen.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { type DiskContent, type FragileDisk, summary } from './fragile-disk.ts'

export const DAY_MS = 86_400_000

export interface HubTalk {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly peer: { readonly certificate: Certificate; readonly intermediates: readonly Certificate[] } | undefined
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface EdgeHubOptions {
  readonly clock: Clock
  readonly names?: RequestedNames
  readonly certificateLifeMs?: number
  readonly graceMs?: number
  readonly server?: Partial<CertificateTemplate>
}

export async function makeCa(clock: Clock, name = 'causeway'): Promise<CertificateAuthority> {
  const template = { subject: userName(name), ...validityFromNow(clock, 3650 * DAY_MS) }
  return await issueSelfSignedCa(template, (await generateKeys()).privateKey)
}

export class EdgeHub {
  readonly clock: Clock
  authority: CertificateAuthority
  /** What `GET /ca.crt` says. */
  caPem: string
  kubernetesCa: Certificate
  /** What `GET /k8s/ca.crt` says. */
  kubernetesCaPem: string
  /** Whose signatures on the certificates of edges count. */
  trusted: readonly Certificate[]
  claims = new Map<string, Claim>()
  readonly nodesInCluster = new Set<string>()
  certificateLifeMs: number
  graceMs: number
  /** Added to the test's time in the `Date` header. */
  clockSkewMs = 0
  /** Asked before a request is judged: may refuse it, or answer in the hub's place. */
  before: (talk: HubTalk) => Answer | undefined = () => undefined
  /** Asked when the answer is ready: `lose` cuts the connection instead. */
  after: (talk: HubTalk) => 'send' | 'lose' = () => 'send'
  /** `METHOD path` of every request, in order. */
  readonly log: string[] = []
  port = 0
  readonly #tokenKey = { id: 'k1', secret: randomBytes(32) }
  #server: Server | undefined

  private constructor(options: EdgeHubOptions, authority: CertificateAuthority, kubernetesCa: Certificate) {
    this.clock = options.clock
    this.authority = authority
    this.trusted = [authority.certificate]
    this.caPem = certificatePem(authority.certificate)
    this.kubernetesCa = kubernetesCa
    this.kubernetesCaPem = certificatePem(kubernetesCa)
    this.certificateLifeMs = options.certificateLifeMs ?? 30 * DAY_MS
    this.graceMs = options.graceMs ?? 7 * DAY_MS
  }

  static async start(options: EdgeHubOptions): Promise<EdgeHub> {
    const [authority, kubernetes] = await Promise.all([makeCa(options.clock), makeCa(options.clock, 'kubernetes')])
    const hub = new EdgeHub(options, authority, kubernetes.certificate)
    await hub.#listen(options)
    return hub
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections()
    await new Promise((resolve) => this.#server?.close(resolve))
  }

  async mint(claims: Partial<JoinClaims> = {}): Promise<string> {
    const nowMs = this.clock.nowMs()
    const all = {
      audience: 'cluster-1',
      id: 'token-1',
      issuedAtMs: nowMs,
      expiresAtMs: nowMs + DAY_MS,
      kubernetesCaSha256: caBundleSha256([this.kubernetesCa]),
      apiServerName: 'kubernetes.default.svc',
      ...claims,
    }
    return await mintJoinToken(all, this.#tokenKey, caSha256(this.authority.certificate))
  }

  forget(node: string): void {
    this.claims.set(node, { state: 'released', node, releasedAtMs: this.clock.nowMs() })
  }

  async #listen({ names, server = {} }: EdgeHubOptions): Promise<void> {
    const keys = await generateKeys()
    const template: CertificateTemplate = {
      subject: userName('hub'),
      names: names ?? { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] },
      extendedKeyUsages: ['serverAuth'],
      ...validityFromNow(this.clock, 365 * DAY_MS),
      ...server,
    }
    const certificate = await issueCertificate(this.authority, template, keys.publicKey)
    this.#server = createServer(
      {
        cert: certificatePem(certificate),
        key: privateKeyPem(keys.privateKey),
        requestCert: true,
        rejectUnauthorized: false,
      },
      (request, response) => void this.#serve(request, response),
    )
    this.port = (await listen(this.#server, { host: '127.0.0.1', port: 0 })).port
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const { method = '', url: path = '', headers } = request
    const peer = peerCertificates(request.socket as TLSSocket)
    const talk: HubTalk = { method, path, headers, body: Buffer.concat(chunks).toString(), peer }
    this.log.push(`${method} ${path}`)
    const answer = await this.#judge(talk)
    if (this.after(talk) === 'lose') {
      request.socket.destroy()
      return
    }
    response.sendDate = false
    response.setHeader('date', new Date(this.clock.nowMs() + this.clockSkewMs).toUTCString())
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }

  async #judge(talk: HubTalk): Promise<Answer> {
    try {
      return this.before(talk) ?? (await this.#answer(talk))
    } catch (error) {
      if (!(error instanceof Refusal))
        return { status: 500, body: JSON.stringify({ code: 'internal', message: String(error) }) }
      const { code, message, status } = error
      return { status, body: JSON.stringify({ code, message }) }
    }
  }

  async #answer(talk: HubTalk): Promise<Answer> {
    switch (`${talk.method} ${talk.path}`) {
      case 'GET /ca.crt':
        return { status: 200, body: this.caPem }
      case 'GET /k8s/ca.crt':
        return { status: 200, body: this.kubernetesCaPem }
      case 'POST /edge.crt':
        return talk.peer === undefined ? await this.#join(talk) : await this.#rotate(talk)
      case 'GET /v1/node': {
        const { node, key, certificate } = this.#peer(talk, 0)
        const certificateEnds = new Date(certificate.notAfterMs).toISOString()
        return { status: 200, body: JSON.stringify({ node, key, certificateEnds }) }
      }
      default:
        throw new Refusal('not-found', 'there is nothing here')
    }
  }

  async #join({ headers, body }: HubTalk): Promise<Answer> {
    const claims = await this.#token(headers.authorization?.replace('Bearer ', '') ?? '')
    const request = await readRequest(body)
    const node = (commonName(request.subject) ?? '').replace('system:node:', '')
    if (!tokenCovers(claims.node, node)) throw new Refusal('token-for-other-node', 'the token is for another node')
    const key = keyFingerprint(request.publicKey)
    const claim = claimByToken(this.claims.get(node), {
      node,
      key,
      token: { id: claims.id, namesNode: claims.node === node },
      nodeExists: this.nodesInCluster.has(node),
      nowMs: this.clock.nowMs(),
    })
    this.claims.set(node, claim)
    return await this.#issue(node, request.publicKey)
  }

  async #token(jwt: string): Promise<JoinClaims> {
    const keyOf = (id: string) => (id === this.#tokenKey.id ? this.#tokenKey.secret : undefined)
    try {
      return await verifyJoinJwt(jwt, { audience: 'cluster-1', nowMs: this.clock.nowMs() + this.clockSkewMs, keyOf })
    } catch (error) {
      const { problem, message } = error as JoinTokenError
      throw new Refusal(problem === 'expired' ? 'token-expired' : 'token-invalid', message)
    }
  }

  async #rotate(talk: HubTalk): Promise<Answer> {
    const { node, key } = this.#peer(talk, this.graceMs)
    const request = await readRequest(talk.body)
    if (commonName(request.subject) !== `system:node:${node}`)
      throw new Refusal('node-mismatch', 'that is another node')
    const claim = this.claims.get(node)
    if (claim?.state !== 'held') throw new Error('a presented certificate has a claim')
    this.claims.set(node, claimByRotation(claim, key, keyFingerprint(request.publicKey)))
    return await this.#issue(node, request.publicKey)
  }

  #peer({ peer }: HubTalk, graceMs: number): { node: string; key: string; certificate: Certificate } {
    if (peer === undefined) throw new Refusal('certificate-missing', 'a client certificate is needed')
    const { certificate, intermediates } = peer
    const nowMs = this.clock.nowMs()
    const trust = this.trusted
    const verdict = verifyCertificate(certificate, { trust, intermediates, usage: 'clientAuth', atMs: nowMs, graceMs })
    if (!verdict.ok)
      throw new Refusal(verdict.reason === 'expired' ? 'certificate-expired' : 'certificate-invalid', verdict.message)
    const node = nodeOfSubject(certificate.subject) ?? ''
    const key = keyFingerprint(certificate.publicKey)
    const presented = { node, key, notBeforeMs: certificate.notBeforeMs, nowMs }
    this.claims.set(node, claimByCertificate(this.claims.get(node), presented))
    return { node, key, certificate }
  }

  async #issue(node: string, publicKey: Parameters<typeof issueCertificate>[2]): Promise<Answer> {
    const life = validityFromNow(this.clock, this.certificateLifeMs)
    const template = { subject: nodeSubject(node), extendedKeyUsages: ['clientAuth'] as const, ...life }
    const certificate = await issueCertificate(this.authority, template, publicKey)
    return { status: 200, body: certificatePem(certificate), headers: { 'causeway-node': node } }
  }
}

/** Every state of disk and hub that a crash at some moment may leave, each once. */
export class CrashStates {
  readonly states = new Map<string, { readonly survivor: DiskContent; readonly claims: ReadonlyMap<string, Claim> }>()

  /** Takes down what would be left if power were lost now. */
  note(disk: FragileDisk, { claims: now }: EdgeHub): void {
    const claims = new Map(now)
    for (const survivor of disk.survivors())
      this.states.set(`${summary(survivor)} ${JSON.stringify([...claims])}`, { survivor, claims })
  }
}
