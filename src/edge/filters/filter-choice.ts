/** Which filters a request is for: by what it reads, then by who asks, then by the settings. */

import type { ResourceRequest, ResourceVerb } from '../../kube/request-info.ts'
import { joinGroupVersion } from '../../kube/schema/catalogue.ts'
import type { Asker, Components } from './component.ts'
import type { Component, FilteredResource, FilteredVerb, LocalPodsView, ObjectFilter } from './filter.ts'
import type { FilterRequest } from './filter-plan.ts'
import { type FilterSettings, isFor, isForOne } from './filter-settings.ts'
import { type Reading, readingOf } from './reading.ts'

/** A request in terms of filters. */
export interface FilterSubject extends Asker {
  readonly verb: FilteredVerb
  readonly resource: FilteredResource
  /** Empty for a collection. */
  readonly name: string
  readonly reading: Reading
  /** The filters that apply unless they are disabled. */
  readonly candidates: readonly ObjectFilter[]
}

interface Candidate {
  readonly filter: ObjectFilter
  readonly resource: FilteredResource
}

/** undefined where no filter applies, disabled or not. */
export async function subjectOf(
  request: FilterRequest,
  filters: readonly ObjectFilter[],
  components: Components,
  settings: FilterSettings,
): Promise<FilterSubject | undefined> {
  const { info } = request
  if (info.kind !== 'resource' || info.subresource !== '' || !isRead(info.verb)) return undefined
  const looking = filtersLookingAt(filters, info, info.verb)
  const [first] = looking
  if (first === undefined) return undefined
  const meantFor = (component: Component): readonly ObjectFilter[] =>
    looking.map(({ filter }) => filter).filter((filter) => isFor(filter, component, settings))
  const asker = await components.of(request, (component) =>
    looking.some(({ filter }) => isForOne(filter, component, settings)),
  )
  const candidates = meantFor(asker.component)
  if (candidates.length === 0) return undefined
  const reading = readingOf(request, info, asker.component)
  return { ...asker, verb: info.verb, resource: first.resource, name: info.name, reading, candidates }
}

export function activeFilters({ candidates }: FilterSubject, { disabled }: FilterSettings): readonly ObjectFilter[] {
  return candidates.filter(({ name }) => !disabled.includes(name))
}

/** Would change nothing of any object, as things are: answers pass without being read. */
export function isAtRest({ showsLocalPods }: ObjectFilter, localPods: LocalPodsView): boolean {
  return showsLocalPods === true && localPods.size === 0
}

/** Asked for every read, and nearly always in vain: makes nothing before it has found something. */
function filtersLookingAt(filters: readonly ObjectFilter[], info: ResourceRequest, verb: FilteredVerb): Candidate[] {
  const looking: Candidate[] = []
  for (const filter of filters) {
    if (!filter.verbs.includes(verb)) continue
    for (const resource of filter.resources) if (isOf(info, resource)) looking.push({ filter, resource })
  }
  return looking
}

function isOf(info: ResourceRequest, { resource, apiVersion }: FilteredResource): boolean {
  return resource === info.resource && apiVersion === joinGroupVersion(info.apiGroup, info.apiVersion)
}

function isRead(verb: ResourceVerb): verb is FilteredVerb {
  return verb === 'get' || verb === 'list' || verb === 'watch'
}
