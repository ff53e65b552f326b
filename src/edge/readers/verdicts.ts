/**
 * What readers were last known to be allowed, and not: all that there is to go by while the API server cannot be asked. Each is
 * kept under the whole of who asked and the whole of what was asked for. Nothing is concluded from a denial, and from a
 * permission only what every authorizer of Kubernetes would grant as well.
 */
import { hash } from 'node:crypto'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { escapeFieldValue } from '../../kube/selectors/field.ts'

/** Readers times what each reads; beyond, what was learnt longest ago is forgotten, and refused as unknown. */
export const MAX_VERDICTS = 16_384

export type Verdict = 'allowed' | 'denied'

/** What an authorizer is asked. */
export type Access = Pick<
  ResourceRequest,
  | 'verb'
  | 'apiGroup'
  | 'apiVersion'
  | 'resource'
  | 'subresource'
  | 'namespace'
  | 'name'
  | 'labelSelector'
  | 'fieldSelector'
>

export interface VerdictsOptions {
  /** Hears of each that is new or another than before, and of those that are forgotten, to keep them. */
  readonly changed?: (key: string, verdict: Verdict | undefined) => void
  readonly maxVerdicts?: number
}

export class Verdicts {
  readonly #options: VerdictsOptions
  /** Those learnt last stand last. */
  readonly #verdicts = new Map<string, Verdict>()

  constructor(options: VerdictsOptions = {}) {
    this.#options = options
  }

  get size(): number {
    return this.#verdicts.size
  }

  /** From what an earlier life has kept. */
  restore(entries: Iterable<readonly [key: string, verdict: Verdict]>): void {
    for (const [key, verdict] of entries) this.#verdicts.set(key, verdict)
  }

  clear(): void {
    this.#verdicts.clear()
  }

  learn(identityKey: string, access: Access, verdict: Verdict): void {
    const key = keyOf(identityKey, access)
    const known = this.#verdicts.get(key)
    this.#verdicts.delete(key)
    this.#verdicts.set(key, verdict)
    if (known !== verdict) this.#options.changed?.(key, verdict)
    const { maxVerdicts = MAX_VERDICTS } = this.#options
    const [oldest] = this.#verdicts.keys()
    if (oldest === undefined || this.#verdicts.size <= maxVerdicts) return
    this.#verdicts.delete(oldest)
    this.#options.changed?.(oldest, undefined)
  }

  find(identityKey: string, access: Access): Verdict | undefined {
    const exact = this.#verdicts.get(keyOf(identityKey, access))
    if (exact !== undefined) return exact
    return wider(access).some((each) => this.#verdicts.get(keyOf(identityKey, each)) === 'allowed')
      ? 'allowed'
      : undefined
  }
}

/** Each shows whoever has the right all that the one before would: a watch begins with everything there is. */
const readingVerbs: readonly Access['verb'][] = ['get', 'list', 'watch']

/**
 * Permissions that hold this one within them. Who may list or watch a collection sees every object in it; who may read it in all
 * namespaces may do so in one, and who may read all of it may read what selectors leave.
 */
function wider(access: Access): Access[] {
  const { verb, name, subresource } = access
  const rank = readingVerbs.indexOf(verb)
  if (subresource !== '' || rank < 0) return []
  const everything = { ...access, name: '', labelSelector: '', fieldSelector: '' }
  // Programs that want one object only, and want to know when it changes, watch the collection of its name.
  const named = { ...everything, name, fieldSelector: `metadata.name=${escapeFieldValue(name)}` }
  const selections = verb === 'get' ? [everything, named] : [everything, access]
  return readingVerbs.slice(rank).flatMap((each) =>
    selections.flatMap((selection) => {
      const held = { ...selection, verb: each }
      return [held, { ...held, namespace: '' }]
    }),
  )
}

function keyOf(identityKey: string, access: Access): string {
  const { verb, apiGroup, resource, subresource, namespace, name, labelSelector, fieldSelector } = access
  const texts = [identityKey, verb, apiGroup, resource, subresource, namespace, name, labelSelector, fieldSelector]
  return hash('sha256', JSON.stringify(texts), 'base64url')
}
