/**
 * Joining a hub with a token, in the seven steps of the protocol.
 *
 * The key is on disk before it is shown to the hub, and the pair of certificate and key is the last thing written that
 * counts. So a join that was cut off anywhere is completed by running it again: before the pair is written, with the same
 * key, for which the hub answers as it did before; after that, by finding the identity and clearing up.
 */

import type { KeyObject } from 'node:crypto'
import { type Certificate, certificatePem, readCertificates } from '../../identity/certificate.ts'
import { createRequest } from '../../identity/csr.ts'
import { caBundleSha256, caSha256, type JoinToken } from '../../identity/join-token.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import { type CertificatePair, parsePair } from '../../identity/pair-file.ts'
import { MAX_CHAIN_LENGTH } from '../../identity/verify.ts'
import type { Dial } from '../../kube/client/connector.ts'
import type { Clock } from '../../runtime/clock.ts'
import { fetchUnverifiedCa, HubClient } from '../hub/hub-client.ts'
import { parseHubUrls } from '../hub/hub-url.ts'
import type { EdgeFiles } from '../identity/edge-files.ts'
import type { JoinedIdentity } from '../identity/edge-identity.ts'
import { type EdgeRecord, EdgeRecordError, type RememberedRotation } from '../identity/edge-record.ts'
import { MAX_LEARNT_CAS } from '../identity/learnt-trust.ts'
import { ownCertificateProblem } from '../identity/own-certificate.ts'
import { drawRotation } from '../rotation/rotation-core.ts'
import { judgeExisting } from './existing-identity.ts'
import { explainJoinFailure, JOIN_STEPS, type JoinContext, JoinError, type JoinStep } from './join-error.ts'
import { badCertificate, noToken, otherNode, wrongHash, wrongKubernetesCa } from './join-failures.ts'
import { patiently } from './patience.ts'
import { nodeToJoinAs, readToken, type TokenSource } from './token-source.ts'

export interface JoinProgress {
  readonly step: JoinStep
  readonly total: number
  readonly text: string
  /** False when the step begins. */
  readonly done: boolean
}

export interface JoinOptions {
  readonly files: EdgeFiles
  readonly hubs: readonly string[]
  /** May be left out if the token is for exactly one node, or the folder has a name already. */
  readonly node?: string | undefined
  /** If all of these are silent: the name of this machine. */
  readonly fallbackNode?: string | undefined
  readonly token: TokenSource
  readonly clock: Clock
  /** Draws from [0, 1). */
  readonly random: () => number
  readonly dial?: Dial | undefined
  /** Forgets what was kept for whoever this edge was before; called when it is about to become somebody. */
  readonly forget?: (() => Promise<void>) | undefined
  readonly progress?: ((progress: JoinProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface JoinResult {
  /** `already-joined`: the identity found is good and stays; `unchecked`: it looks good, but no hub could be asked. */
  readonly outcome: 'joined' | 'already-joined' | 'unchecked'
  readonly identity: JoinedIdentity
  readonly uncheckedBecause?: string
  /** Why the token file is still there, if it should not be. */
  readonly tokenFileKept?: string | undefined
}

/** Rejects with a `JoinError`. Up to the last step, an identity from before is as it was; then the next try completes it. */
export async function joinHub(options: JoinOptions): Promise<JoinResult> {
  return await new Join(options).run()
}

class Join {
  readonly #options: JoinOptions
  #step: JoinStep = 1
  #node: string | undefined
  #skewMs: number | undefined

  constructor(options: JoinOptions) {
    this.#options = options
  }

  async run(): Promise<JoinResult> {
    try {
      return await this.#run()
    } catch (error) {
      throw explainJoinFailure(error, this.#context())
    }
  }

  async #run(): Promise<JoinResult> {
    const { token, hubs } = await this.#during(1, () => this.#readInput())
    const verdict = await judgeExisting({ ...this.#options, hubs, node: this.#node, caSha256: token?.caSha256 })
    if (verdict.kind === 'other-node') throw otherNode(verdict.node, this.#node)
    if (verdict.kind === 'unchecked')
      return { outcome: 'unchecked', identity: verdict.identity, uncheckedBecause: verdict.because }
    if (verdict.kind === 'good') return await this.#keep(verdict.identity, hubs)
    if (token === undefined) throw noToken(this.#options.token)
    const identity = await this.#joinAnew(hubs, token, verdict.key)
    return { outcome: 'joined', identity, tokenFileKept: await this.#removeToken() }
  }

  async #readInput(): Promise<{ token: JoinToken | undefined; hubs: readonly [URL, ...URL[]] }> {
    const hubs = parseHubUrls(this.#options.hubs)
    this.#node = this.#options.node
    const token = await readToken(this.#options.token, this.#options.files)
    if (token !== undefined) {
      const found = nodeToJoinAs(this.#node, token.claims.node, (await this.#heldName()) ?? this.#options.fallbackNode)
      if (typeof found !== 'string') throw new JoinError(1, found.code, found.why, found.advice)
      this.#node = found
    }
    return { token, hubs }
  }

  /** A folder that has a name, if only from a join that was cut off, keeps it; what is damaged is judged later. */
  async #heldName(): Promise<string | undefined> {
    try {
      return (await this.#options.files.readRecord())?.node
    } catch (error) {
      if (error instanceof EdgeRecordError) return undefined
      throw error
    }
  }

  async #joinAnew(hubs: readonly [URL, ...URL[]], token: JoinToken, reusable?: KeyObject): Promise<JoinedIdentity> {
    const { files, clock, dial } = this.#options
    const node = this.#node ?? ''
    const hubCa = await this.#fetchCa(hubs, token)
    const key = await this.#during(4, () => this.#key(reusable))
    const client = new HubClient({ hubs, clock, trust: () => [hubCa], dial })
    const pair = await this.#during(5, () => this.#ask(client, key, token, node))
    const kubernetesCa = await this.#during(6, () => this.#check(client, pair, token, hubCa))
    const { apiServerName, kubernetesCaSha256 } = token.claims
    const pinned = { apiServerName, kubernetesCaSha256 }
    const record: EdgeRecord = { node, hubs: origins(hubs), ...pinned, rotation: this.#rotation(pair) }
    await this.#during(7, async () => {
      // What was kept belongs to who this edge was before.
      await this.#options.forget?.()
      await files.writeHubCa([hubCa])
      await files.writeKubernetesCa(kubernetesCa)
      await files.writeRecord(record)
      // From here on the folder has an identity.
      await files.writePair(pair)
      await files.removeJoinKey()
    })
    return { node, pair, hubCa: [hubCa], kubernetesCa, record }
  }

  /** The identity on disk is good: nothing changes but the addresses of the hub, through which it was just seen to be so. */
  async #keep(identity: JoinedIdentity, hubs: readonly URL[]): Promise<JoinResult> {
    const { files } = this.#options
    const addresses = origins(hubs)
    const isSame = addresses.join() === identity.record.hubs.join()
    const record = isSame ? identity.record : { ...identity.record, hubs: addresses }
    this.#step = 7
    if (!isSame) await files.writeRecord(record)
    await files.removeJoinKey()
    return { outcome: 'already-joined', identity: { ...identity, record }, tokenFileKept: await this.#removeToken() }
  }

  async #fetchCa(hubs: readonly [URL, ...URL[]], token: JoinToken): Promise<Certificate> {
    const { clock, dial, signal } = this.#options
    const { pem, hubTimeMs } = await this.#during(2, () =>
      this.#patiently(() => fetchUnverifiedCa({ hubs, clock, dial, signal })),
    )
    if (hubTimeMs !== undefined) this.#skewMs = hubTimeMs - clock.nowMs()
    return await this.#during(3, () => this.#pinnedCa(pem, token))
  }

  #pinnedCa(pem: string, token: JoinToken): Certificate {
    const certificates = readCertificates(pem, "the hub's CA certificate", MAX_LEARNT_CAS)
    const pinned = certificates.find((certificate) => caSha256(certificate) === token.caSha256)
    if (pinned !== undefined) return pinned
    throw wrongHash(this.#hubNames(), caSha256(certificates[0]), token.caSha256)
  }

  /** On disk before anybody sees it. One that is there already may have been shown to the hub: only that one will do. */
  async #key(reusable: KeyObject | undefined): Promise<KeyObject> {
    const { files } = this.#options
    const begun = await files.readJoinKey()
    if (begun !== undefined) return begun
    const key = reusable ?? (await generateKeys()).privateKey
    await files.writeJoinKey(key)
    return key
  }

  async #ask(client: HubClient, key: KeyObject, token: JoinToken, node: string): Promise<CertificatePair> {
    const request = await createRequest({ subject: nodeSubject(node) }, key)
    const pem = await this.#patiently(() => client.join(request, token.jwt, this.#options.signal))
    // Read and written anew: whatever stood around the certificates does not reach our disk.
    const chain = certificatePem(...readCertificates(pem, "the hub's answer", MAX_CHAIN_LENGTH))
    return parsePair(chain, privateKeyPem(key), { certificate: "the hub's answer", key: 'our key' })
  }

  async #check(
    client: HubClient,
    pair: CertificatePair,
    token: JoinToken,
    hubCa: Certificate,
  ): Promise<readonly Certificate[]> {
    const atMs = this.#options.clock.nowMs()
    const node = this.#node ?? ''
    const problem = ownCertificateProblem(pair.chain, { trust: [hubCa], atMs, dates: 'check', node })
    if (problem !== undefined) throw badCertificate(problem, this.#context())
    const kubernetesCa = await this.#patiently(async () => await this.#kubernetesCa(client))
    const sha256 = caBundleSha256(kubernetesCa)
    if (sha256 === token.claims.kubernetesCaSha256) return kubernetesCa
    throw wrongKubernetesCa(sha256, token.claims.kubernetesCaSha256)
  }

  #rotation({ chain: [certificate] }: CertificatePair): RememberedRotation {
    const { clock, random } = this.#options
    return { fingerprint: certificate.fingerprint, atMs: drawRotation(certificate, clock.nowMs(), random) }
  }

  async #kubernetesCa(client: HubClient): Promise<readonly Certificate[]> {
    return readCertificates(await client.kubernetesCa(this.#options.signal), 'the Kubernetes CA from the hub')
  }

  /** The join is done; a token that cannot be removed is worth a warning, not a failure. */
  async #removeToken(): Promise<string | undefined> {
    const { token, files } = this.#options
    if (token.kind !== 'file') return undefined
    try {
      await files.removeForGood(token.path)
      return undefined
    } catch (error) {
      return `cannot remove ${token.path}: ${(error as Error).message}`
    }
  }

  async #patiently<T>(work: () => Promise<T>): Promise<T> {
    return await patiently(work, this.#options)
  }

  async #during<T>(step: JoinStep, work: () => T | Promise<T>): Promise<T> {
    const { progress } = this.#options
    const about = { step, total: JOIN_STEPS.length, text: JOIN_STEPS[step - 1] ?? '' }
    this.#step = step
    progress?.({ ...about, done: false })
    const result = await work()
    progress?.({ ...about, done: true })
    return result
  }

  #context(): JoinContext {
    const nowMs = this.#options.clock.nowMs()
    return { step: this.#step, hubs: this.#hubNames(), node: this.#node, nowMs, skewMs: this.#skewMs }
  }

  #hubNames(): string {
    return this.#options.hubs.join(', ')
  }
}

function origins(hubs: readonly URL[]): string[] {
  return hubs.map(({ origin }) => origin)
}
