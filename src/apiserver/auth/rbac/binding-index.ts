/** The bindings of one scope by the names they bind, so that a request only looks at those of its own user. */

import { serviceAccountUserName } from '../../../identity/service-account/user.ts'
import type { UserInfo } from '../../request/user.ts'
import { type Binding, nameOf, namespaceOf, type Subject } from './objects.ts'

export class BindingIndex {
  readonly #byName = new Map<string, Binding>()
  readonly #bySubject = new Map<string, Set<Binding>>()

  get size(): number {
    return this.#byName.size
  }

  put(binding: Binding): void {
    this.remove(nameOf(binding))
    this.#byName.set(nameOf(binding), binding)
    for (const key of subjectKeys(binding)) {
      const bindings = this.#bySubject.get(key)
      if (bindings === undefined) this.#bySubject.set(key, new Set([binding]))
      else bindings.add(binding)
    }
  }

  remove(name: string): void {
    const binding = this.#byName.get(name)
    if (binding === undefined) return
    this.#byName.delete(name)
    for (const key of subjectKeys(binding)) {
      const bindings = this.#bySubject.get(key)
      bindings?.delete(binding)
      if (bindings?.size === 0) this.#bySubject.delete(key)
    }
  }

  /** Each binding once, however many of its subjects the user is. Good until the next change: one may have thousands. */
  of(user: UserInfo): Iterable<Binding> {
    const keys = [userKey(user.name), ...user.groups.map(groupKey)]
    const sets = keys.map((key) => this.#bySubject.get(key)).filter((bindings) => bindings !== undefined)
    const [only, ...others] = new Set(sets)
    if (others.length === 0) return only ?? []
    return distinct([only as Set<Binding>, ...others])
  }
}

function* distinct(sets: readonly Set<Binding>[]): Generator<Binding, void, undefined> {
  const seen = new Set<Binding>()
  for (const set of sets) {
    for (const binding of set) {
      if (seen.has(binding)) continue
      seen.add(binding)
      yield binding
    }
  }
}

/** The first subject of the binding that is the user: the one that a verdict names. */
export function matchingSubject(binding: Binding, user: UserInfo): Subject | undefined {
  const keys = new Set([userKey(user.name), ...user.groups.map(groupKey)])
  return binding.subjects?.find((subject) => keys.has(subjectKey(subject, namespaceOf(binding)) ?? ''))
}

function subjectKeys(binding: Binding): string[] {
  const keys = (binding.subjects ?? []).map((subject) => subjectKey(subject, namespaceOf(binding)))
  return keys.filter((key) => key !== undefined)
}

/** A ServiceAccount is the user it authenticates as; without any namespace it is nobody. */
function subjectKey(subject: Subject, bindingNamespace: string): string | undefined {
  switch (subject.kind) {
    case 'User':
      return userKey(subject.name)
    case 'Group':
      return groupKey(subject.name)
    case 'ServiceAccount': {
      const namespace = subject.namespace || bindingNamespace
      return namespace === '' ? undefined : userKey(serviceAccountUserName(namespace, subject.name))
    }
    default:
      return undefined
  }
}

function userKey(name: string): string {
  return `user:${name}`
}

function groupKey(name: string): string {
  return `group:${name}`
}
