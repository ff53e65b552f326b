/** What a join finds in the data folder, and what becomes of it. */

import type { KeyObject } from 'node:crypto'
import { caSha256 } from '../../identity/join-token.ts'
import { isDamagedFile } from '../../identity/pair-file.ts'
import type { Dial } from '../../kube/client/connector.ts'
import type { Clock } from '../../runtime/clock.ts'
import { HubClient } from '../hub/hub-client.ts'
import { HubError } from '../hub/hub-error.ts'
import type { EdgeFiles } from '../identity/edge-files.ts'
import { EdgeIdentityError, type JoinedIdentity, loadJoinedIdentity } from '../identity/edge-identity.ts'
import { EdgeRecordError } from '../identity/edge-record.ts'

export interface ExistingOptions {
  readonly files: EdgeFiles
  readonly hubs: readonly [URL, ...URL[]]
  /** As wanted, or as the token says. */
  readonly node: string | undefined
  /** Hash of the hub's CA, from the token; absent if there is no token any more. */
  readonly caSha256: string | undefined
  readonly clock: Clock
  readonly dial?: Dial | undefined
  readonly signal?: AbortSignal | undefined
}

export type ExistingVerdict =
  /** The hub knows it and is content. */
  | { readonly kind: 'good'; readonly identity: JoinedIdentity }
  /** The identity is valid by all we can see, and the hub cannot be asked now. Going on with it beats standing still. */
  | { readonly kind: 'unchecked'; readonly identity: JoinedIdentity; readonly because: string }
  | { readonly kind: 'other-node'; readonly node: string }
  /** To be replaced. `key` is there if it may go on serving, which spares the operator a token for this very node. */
  | { readonly kind: 'none'; readonly key?: KeyObject }

export async function judgeExisting(options: ExistingOptions): Promise<ExistingVerdict> {
  const identity = await loadUsable(options)
  if (identity === undefined) return { kind: 'none' }
  const { node = identity.node, caSha256: wantedCa } = options
  if (identity.node !== node) return { kind: 'other-node', node: identity.node }
  // A token of another CA says that this node is to move there.
  const isSameCa = wantedCa === undefined || identity.hubCa.some((certificate) => caSha256(certificate) === wantedCa)
  if (!isSameCa) return { kind: 'none' }
  return await askTheHub(identity, options)
}

/** A damaged identity is no reason to stop if a token is at hand to replace it. A disk that cannot be read is one. */
async function loadUsable({ files, clock, caSha256: wantedCa }: ExistingOptions): Promise<JoinedIdentity | undefined> {
  try {
    return await loadJoinedIdentity(files, clock.nowMs())
  } catch (error) {
    if (wantedCa !== undefined && isDamage(error)) return undefined
    throw error
  }
}

function isDamage(error: unknown): boolean {
  if (error instanceof EdgeRecordError) return error.problem === 'damaged'
  return isDamagedFile(error) || error instanceof EdgeIdentityError
}

async function askTheHub(identity: JoinedIdentity, options: ExistingOptions): Promise<ExistingVerdict> {
  const { hubs, clock, dial, signal } = options
  const { hubCa, pair } = identity
  const client = new HubClient({ hubs, clock, trust: () => hubCa, pair: () => pair, dial })
  try {
    await client.checkIn(signal)
    return { kind: 'good', identity }
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    const unchecked = { kind: 'unchecked', identity, because: error.message } as const
    // There is nothing to join anew with; renewing the certificate may still help, and is not our business.
    if (options.caSha256 === undefined) return unchecked
    if (error.code === 'certificate-expired') return { kind: 'none', key: pair.privateKey }
    if (error.code === 'certificate-revoked' || error.code === 'certificate-invalid') return { kind: 'none' }
    const [certificate] = pair.chain
    const isAlive = clock.nowMs() <= certificate.notAfterMs
    const isAbsent = error.kind !== 'refusal' || error.retryable
    if (isAlive && isAbsent) return unchecked
    throw error
  }
}
