/**
 * Keeps one good join token in its Secret for ever, for those who copy it from there: a new one at half of its life, and at
 * once when it would not work any more. A write that fails is tried again; nothing here ends the hub.
 */

import { readCertificates } from '../../identity/certificate.ts'
import { caBundleSha256, caSha256, type JoinToken, readJoinToken } from '../../identity/join-token.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { secrets } from '../../kube/client/kinds.ts'
import type { ResourceClient } from '../../kube/client/resource-client.ts'
import type { Secret } from '../../kube/client/types.ts'
import { Fields, secretData } from '../shared/fields.ts'
import { JOIN_TOKEN_SECRET, labelsOf } from '../shared/names.ts'
import { changeShared } from '../shared/shared-object.ts'
import type { ClusterInfo } from './cluster-info.ts'
import { type Mint, type MintedToken, mintToken } from './mint-token.ts'

const tokenField = 'token'

export interface TokenKeeperOptions extends Mint {
  readonly client: KubeClient
  readonly namespace: string
}

export class TokenKeeper {
  readonly #options: TokenKeeperOptions
  readonly #secrets: ResourceClient<Secret>
  #unwritten: MintedToken | undefined

  constructor(options: TokenKeeperOptions) {
    this.#options = options
    this.#secrets = options.client.resource(secrets).in(options.namespace)
  }

  /** Looks at the token and replaces it if it is time. True if the token there is one of this hub's making. */
  async refresh(): Promise<boolean> {
    const info = await this.#options.info()
    const written = await changeShared(
      this.#secrets,
      JOIN_TOKEN_SECRET,
      async (present) => {
        if (present !== undefined && (await this.#isGood(textOf(present), info))) return undefined
        return this.#secretOf(await this.#mintOnce(info))
      },
      this.#options,
    )
    const minted = this.#unwritten
    if (minted === undefined) return false
    this.#unwritten = undefined
    const isOurs = written !== undefined && textOf(written) === minted.text
    // Another hub was faster: nobody will ever see ours.
    if (!isOurs) await this.#options.records.discard(minted.id)
    return isOurs
  }

  /** One token for all tries to write it: each has a record, and those must not pile up while writing fails. */
  async #mintOnce(info: ClusterInfo): Promise<string> {
    if (this.#unwritten === undefined || !(await this.#isGood(this.#unwritten.text, info)))
      this.#unwritten = await mintToken({}, this.#options)
    return this.#unwritten.text
  }

  async #isGood(text: string, info: ClusterInfo): Promise<boolean> {
    const token = tokenOf(text)
    if (token === undefined || !isFor(token, info)) return false
    const { id, issuedAtMs, expiresAtMs } = token.claims
    if (this.#options.clock.nowMs() >= (issuedAtMs + expiresAtMs) / 2) return false
    const record = await this.#options.records.get(id)
    return record !== undefined && record.revokedMs === undefined
  }

  #secretOf(text: string): Secret {
    const { namespace } = this.#options
    const metadata = { name: JOIN_TOKEN_SECRET, namespace, labels: labelsOf() }
    return { metadata, type: 'Opaque', data: secretData({ [tokenField]: text }) }
  }
}

function isFor({ caSha256: hubCa, claims }: JoinToken, info: ClusterInfo): boolean {
  const { caPem, apiServerName } = info.kubernetes
  return (
    hubCa === caSha256(info.hubCa) &&
    claims.audience === info.id &&
    claims.apiServerName === apiServerName &&
    claims.kubernetesCaSha256 === caBundleSha256(readCertificates(caPem, 'the Kubernetes CA'))
  )
}

function tokenOf(text: string): JoinToken | undefined {
  try {
    return readJoinToken(text)
  } catch {
    return undefined
  }
}

function textOf(secret: Secret): string {
  return Fields.ofSecret(secret).optional(tokenField) ?? ''
}
