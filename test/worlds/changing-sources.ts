/** Sources of discovery and OpenAPI that change while the server runs: what is set under the same name replaces what was there. */
import type { DiscoveryGroupVersion, DiscoverySource } from '../../src/apiserver/discovery/source.ts'
import type { OpenApiPart, OpenApiSource } from '../../src/apiserver/openapi/source.ts'
import { joinGroupVersion } from '../../src/kube/schema/catalogue.ts'

class ChangingSource<T> {
  readonly #items = new Map<string, T>()
  #generation = 0

  constructor(initial: Iterable<readonly [string, T]>) {
    for (const [name, item] of initial) this.#items.set(name, item)
  }

  get generation(): number {
    return this.#generation
  }

  protected items(): Iterable<T> {
    return this.#items.values()
  }

  protected put(name: string, item: T): void {
    this.#items.set(name, item)
    this.#generation++
  }

  protected remove(name: string): void {
    if (this.#items.delete(name)) this.#generation++
  }
}

export class ChangingDiscovery extends ChangingSource<DiscoveryGroupVersion> implements DiscoverySource {
  constructor(initial: readonly DiscoveryGroupVersion[]) {
    super(initial.map((one) => [joinGroupVersion(one.group, one.version), one]))
  }

  groupVersions(): Iterable<DiscoveryGroupVersion> {
    return this.items()
  }

  set(groupVersion: DiscoveryGroupVersion): void {
    this.put(joinGroupVersion(groupVersion.group, groupVersion.version), groupVersion)
  }

  delete(group: string, version: string): void {
    this.remove(joinGroupVersion(group, version))
  }
}

export class ChangingOpenApi extends ChangingSource<OpenApiPart> implements OpenApiSource {
  constructor(initial: readonly OpenApiPart[]) {
    super(initial.map((part) => [part.name, part]))
  }

  parts(): Iterable<OpenApiPart> {
    return this.items()
  }

  set(part: OpenApiPart): void {
    this.put(part.name, part)
  }

  delete(name: string): void {
    this.remove(name)
  }
}
