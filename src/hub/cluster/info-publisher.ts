/**
 * Decides when a hub writes the shared facts about the cluster: at its start, when what it knows changes, and when they are
 * gone or damaged. Never merely because they differ from its own: hubs that see the API server under different names would
 * overwrite each other for ever.
 */
import { IdentityError } from '../../identity/errors.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { ClusterError } from '../shared/cluster-error.ts'
import { type ClusterInfo, type ClusterInfoOptions, publishClusterInfo, readClusterInfo } from './cluster-info.ts'

type OwnFacts = Omit<ClusterInfo, 'id'>

export class InfoPublisher {
  readonly #options: ClusterInfoOptions & { readonly logger: Logger }
  #published: { readonly id: string; readonly facts: string } | undefined
  #warnedOf: string | undefined

  constructor(options: ClusterInfoOptions & { readonly logger: Logger }) {
    this.#options = options
  }

  /** Known once `publish` has succeeded. */
  get clusterId(): string {
    if (this.#published === undefined) throw new Error('the cluster id is not known before it is published')
    return this.#published.id
  }

  async publish(own: OwnFacts): Promise<void> {
    const facts = textOf(own)
    if (this.#published?.facts === facts) {
      const present = await this.#present()
      if (present !== undefined) return this.#compare(own, present, facts)
    }
    const known = this.#published?.id
    const id = await publishClusterInfo({ ...own, knownId: known }, this.#options)
    this.#published = { id, facts }
  }

  async #present(): Promise<ClusterInfo | undefined> {
    try {
      return await readClusterInfo(this.#options)
    } catch (error) {
      if (error instanceof ClusterError || error instanceof IdentityError) return undefined
      throw error
    }
  }

  #compare({ hubCa }: OwnFacts, present: ClusterInfo, facts: string): void {
    this.#published = { id: present.id, facts }
    const { fingerprint } = present.hubCa
    if (fingerprint === hubCa.fingerprint || fingerprint === this.#warnedOf) return
    this.#warnedOf = fingerprint
    this.#options.logger.warn(
      { own: hubCa.fingerprint, published: fingerprint },
      'another hub of this cluster uses another CA; join tokens lead to that one only',
    )
  }
}

function textOf({ kubernetes: { caPem, apiServerName }, hubCa }: OwnFacts): string {
  return [hubCa.fingerprint, apiServerName, caPem].join('\n')
}
