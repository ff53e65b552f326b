/**
 * What readers were last known to be allowed, and not: all that there is to go by while the API server cannot be asked. Each is
 * kept under the whole of who asked and the whole of what was asked for. Nothing is concluded from a denial, and from a
 * permission only what every authorizer of Kubernetes would grant as well.
 */
import { hash } from 'node:crypto'
import type { ResourceRequest } from '../../kube/request-info.ts'
import { escapeFieldValue } from '../../kube/selectors/field.ts'

/** Readers times what each reads; beyond, whoever has most forgets first what it learnt longest ago, and is refused as unknown. */
const MAX_VERDICTS = 16_384
/** Of one reader. Names of objects are a reader's to choose, so this is what one may cost. */
const MAX_VERDICTS_OF_READER = 2_048

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
  /** Whose verdicts make way for nobody else's: the node itself. */
  readonly spared?: string | undefined
  /** Hears of each that is new or another than before, and of those that are forgotten, to keep them. */
  readonly changed?: (key: string, verdict: Verdict | undefined) => void
  readonly maxVerdicts?: number
  readonly maxVerdictsOfReader?: number
}

/** Of one reader, by what was asked for. Those learnt last stand last. */
type Share = Map<string, Verdict>

/** Stands between who asked and what was asked for; neither has it. */
const SEPARATOR = '/'

export class Verdicts {
  readonly #options: VerdictsOptions
  readonly #shares = new Map<string, Share>()
  #size = 0

  constructor(options: VerdictsOptions = {}) {
    this.#options = options
  }

  get size(): number {
    return this.#size
  }

  /** From what an earlier life has kept. */
  restore(entries: Iterable<readonly [key: string, verdict: Verdict]>): void {
    for (const [key, verdict] of entries) {
      const [identityKey = '', asked = ''] = key.split(SEPARATOR)
      this.#put(identityKey, asked, verdict)
    }
  }

  clear(): void {
    this.#shares.clear()
    this.#size = 0
  }

  learn(identityKey: string, access: Access, verdict: Verdict): void {
    const { maxVerdicts = MAX_VERDICTS, maxVerdictsOfReader = MAX_VERDICTS_OF_READER, changed } = this.#options
    const asked = hashOf(access)
    const isNews = this.#put(identityKey, asked, verdict) !== verdict
    if (isNews) changed?.(`${identityKey}${SEPARATOR}${asked}`, verdict)
    if ((this.#shares.get(identityKey)?.size ?? 0) > maxVerdictsOfReader) this.#forgetOldest(identityKey)
    else if (this.#size > maxVerdicts) this.#forgetOldest(this.#largestShare())
  }

  find(identityKey: string, access: Access): Verdict | undefined {
    const share = this.#shares.get(identityKey)
    const exact = share?.get(hashOf(access))
    if (share === undefined || exact !== undefined) return exact
    return wider(access).some((each) => share.get(hashOf(each)) === 'allowed') ? 'allowed' : undefined
  }

  /** What was known before. */
  #put(identityKey: string, asked: string, verdict: Verdict): Verdict | undefined {
    const share: Share = this.#shares.get(identityKey) ?? new Map()
    this.#shares.set(identityKey, share)
    const before = share.get(asked)
    if (share.delete(asked)) this.#size--
    share.set(asked, verdict)
    this.#size++
    return before
  }

  #largestShare(): string {
    let largest = this.#options.spared ?? ''
    let size = 0
    for (const [identityKey, share] of this.#shares) {
      if (identityKey === this.#options.spared || share.size <= size) continue
      largest = identityKey
      size = share.size
    }
    return largest
  }

  #forgetOldest(identityKey: string): void {
    const share = this.#shares.get(identityKey)
    const [oldest] = share?.keys() ?? []
    if (share === undefined || oldest === undefined) return
    share.delete(oldest)
    this.#size--
    if (share.size === 0) this.#shares.delete(identityKey)
    this.#options.changed?.(`${identityKey}${SEPARATOR}${oldest}`, undefined)
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

function hashOf(access: Access): string {
  const { verb, apiGroup, resource, subresource, namespace, name, labelSelector, fieldSelector } = access
  const texts = [verb, apiGroup, resource, subresource, namespace, name, labelSelector, fieldSelector]
  return hash('sha256', JSON.stringify(texts), 'base64url')
}
