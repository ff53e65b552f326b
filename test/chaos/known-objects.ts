/**
 * What one client knows of a collection, and what is wrong with what it was told: an API server sends no event twice in one
 * stream, never an older version after a newer, and nothing of an object that is gone.
 */
import type { ObjectMeta } from '../../src/kube/objects.ts'
import { isNotNewer } from '../../src/kube/reflector/versions.ts'

export interface Seen {
  readonly key: string
  readonly uid: string
  readonly version: string
}

export function seenFrom({ namespace = '', name = '', uid = '', resourceVersion = '' }: ObjectMeta): Seen {
  return { key: `${namespace}/${name}`, uid, version: resourceVersion }
}

/** Events that are remembered, and those of them that a violation shows. */
const MAX_TRACE = 2_000
const MAX_TOLD = 12

/** Of a list only what it says of this object. */
function shortened(line: string, key: string): string {
  const [head = '', ...rest] = line.split(' with ')
  const found = rest
    .join(' with ')
    .split(', ')
    .find((each) => each.startsWith(`${key} `))
  return rest.length === 0 ? line : `${head} with ${found ?? `no ${key}`}`
}

export class KnownObjects {
  readonly violations: string[] = []
  /** Whether whatever leaves is gone for good: not so behind a selector, where it may come back. */
  readonly #isWhole: boolean
  #objects = new Map<string, Seen>()
  readonly #deadUids = new Set<string>()
  #told = new Set<string>()
  /** What it heard last, for whoever has to find out. */
  readonly #trace: string[] = []
  version = ''

  constructor(isWhole: boolean) {
    this.#isWhole = isWhole
  }

  /** As `key uid@version` lines, in order. */
  get lines(): string[] {
    return [...this.#objects.values()].map(({ key, uid, version }) => `${key} ${uid}@${version}`).toSorted()
  }

  beginStream(): void {
    this.#told = new Set()
    this.#note(`a stream from ${this.version}`)
  }

  /** These and no others are there. */
  replace(objects: readonly Seen[], version: string): void {
    this.#note(`a list of version ${version} with ${objects.map(({ key, uid }) => `${key} ${uid}`).join(', ')}`)
    const next = new Map(objects.map((object) => [object.key, object]))
    for (const { key, uid } of this.#objects.values()) if (next.get(key)?.uid !== uid) this.#died(uid)
    for (const { key, uid } of objects) this.#mustLive(uid, `a list of version ${version} has ${key}`)
    this.#objects = next
    this.version = version
  }

  apply(type: string, object: Seen): void {
    const { key, uid, version } = object
    const text = `${type} ${key} ${uid}@${version}`
    this.#note(text)
    if (this.#told.has(text)) this.#violated(key, `${text} came twice`)
    this.#told.add(text)
    if (!isNotNewer(this.version, version)) this.#violated(key, `${text} came after version ${this.version}`)
    const known = this.#objects.get(key)
    if (type === 'ADDED' && known !== undefined)
      this.#violated(key, `${text} though ${known.uid}@${known.version} is known`)
    if (type === 'MODIFIED' && known?.uid !== uid)
      this.#violated(key, `${text} though ${known?.uid ?? 'nothing'} is known`)
    if (type === 'DELETED' && known !== undefined && known.uid !== uid)
      this.#violated(key, `${text} though ${known.uid} is known`)
    if (type === 'DELETED') {
      this.#objects.delete(key)
      this.#died(uid)
    } else {
      this.#mustLive(uid, text)
      this.#objects.set(key, object)
    }
    this.version = version
  }

  bookmark(version: string): void {
    if (!isNotNewer(this.version, version)) this.violations.push(`a bookmark ${version} came after ${this.version}`)
    this.#note(`a bookmark ${version}`)
    this.version = version
  }

  #note(text: string): void {
    this.#trace.push(`${new Date().toISOString().slice(14, 23)} ${text}`)
    if (this.#trace.length > MAX_TRACE) this.#trace.shift()
  }

  /** With what was heard of the same object, and of lists and streams. */
  #violated(key: string, text: string): void {
    const related = this.#trace.filter((line) => line.includes(` ${key} `) || / a (list|stream|bookmark)/.test(line))
    const short = related.slice(-MAX_TOLD).map((line) => shortened(line, key))
    this.violations.push(`${text}\n      ${short.join('\n      ')}`)
  }

  #died(uid: string): void {
    if (this.#isWhole) this.#deadUids.add(uid)
  }

  #mustLive(uid: string, text: string): void {
    if (this.#deadUids.has(uid)) this.violations.push(`${text}, which was gone`)
  }
}
