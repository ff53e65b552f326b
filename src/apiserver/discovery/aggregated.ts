/** Aggregated discovery: all groups, versions and resources in one document (`apidiscovery.k8s.io/v2`). */

import { createHash } from 'node:crypto'
import { printJson } from '../../kube/codec/json.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { presentFields } from '../../kube/present-fields.ts'
import { type SubresourceRow, splitApiVersion } from '../../kube/schema/catalogue.ts'
import type { VersionsOfGroup } from './order.ts'
import type { DiscoveryGroupVersion, DiscoveryResource } from './source.ts'

export function groupDiscoveryList(groups: readonly VersionsOfGroup<DiscoveryGroupVersion>[]): KubeObject {
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', ...listFields(groups) }
}

/** One tag for all encodings. API servers compute it before they write kind and apiVersion into the document. */
export function aggregatedETag(groups: readonly VersionsOfGroup<DiscoveryGroupVersion>[]): string {
  const digest = createHash('sha512')
    .update(printJson(listFields(groups)))
    .digest('hex')
  return `"${digest.toUpperCase()}"`
}

function listFields(groups: readonly VersionsOfGroup<DiscoveryGroupVersion>[]) {
  return {
    metadata: {},
    items: groups.map(({ group, versions }) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versions.map(versionFields),
    })),
  }
}

function versionFields({ version, resources, freshness }: DiscoveryGroupVersion): object {
  return presentFields({
    version,
    resources: resources.length === 0 ? undefined : resources.map(resourceFields),
    freshness,
  })
}

function resourceFields(row: DiscoveryResource): object {
  return presentFields({
    resource: row.resource,
    responseKind: responseKind(row.kind, row.groupVersion),
    scope: row.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: row.singular,
    verbs: row.verbs,
    shortNames: row.shortNames,
    categories: row.categories,
    subresources: row.subresources?.map(subresourceFields),
  })
}

function subresourceFields({ name, kind, groupVersion, verbs }: SubresourceRow): object {
  return { subresource: name, responseKind: responseKind(kind, groupVersion), verbs }
}

/** Empty group and version mean those of the document around it. */
function responseKind(kind: string, groupVersion: string | undefined): object {
  const { group, version } = splitApiVersion(groupVersion ?? '')
  return { group, version, kind }
}
