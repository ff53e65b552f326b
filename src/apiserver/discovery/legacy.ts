/** The discovery documents of old: one for the groups, one for each group, one for each group version. */

import { createHash } from 'node:crypto'
import type { KubeObject } from '../../kube/objects.ts'
import { presentFields } from '../../kube/present-fields.ts'
import { joinGroupVersion, type ResourceRow, splitApiVersion } from '../../kube/schema/catalogue.ts'
import type { VersionsOfGroup } from './order.ts'
import type { DiscoveryGroupVersion } from './source.ts'

type Versions = VersionsOfGroup<DiscoveryGroupVersion>

const storageHashBytes = 8

/** `/api`. Documents of the core group have never had an apiVersion. */
export function coreVersions(core: Versions, serverAddress: string): KubeObject {
  return {
    kind: 'APIVersions',
    versions: core.versions.map(({ version }) => version),
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

/** `/apis`. */
export function groupList(groups: readonly Versions[]): KubeObject {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupFields) }
}

/** `/apis/<group>`. */
export function groupDocument(group: Versions): KubeObject {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupFields(group) }
}

/** `/api/v1` and `/apis/<group>/<version>`. */
export function resourceList({ group, version, resources }: DiscoveryGroupVersion): KubeObject {
  const groupVersion = joinGroupVersion(group, version)
  return presentFields({
    kind: 'APIResourceList',
    apiVersion: group === '' ? undefined : 'v1',
    groupVersion,
    resources: resources.flatMap((row) => resourceAndSubresources(row, groupVersion)),
  })
}

function groupFields({ group, versions }: Versions) {
  const named = versions.map(({ version }) => ({ groupVersion: joinGroupVersion(group, version), version }))
  return { name: group, versions: named, preferredVersion: named[0] }
}

function resourceAndSubresources(row: ResourceRow, home: string): object[] {
  const subresources = (row.subresources ?? []).map((subresource) => ({
    name: `${row.resource}/${subresource.name}`,
    singularName: '',
    namespaced: row.namespaced,
    ...foreignKind(subresource.groupVersion ?? home, home),
    kind: subresource.kind,
    verbs: subresource.verbs,
  }))
  return [resourceFields(row), ...subresources]
}

function resourceFields(row: ResourceRow): object {
  return presentFields({
    name: row.resource,
    singularName: row.singular,
    namespaced: row.namespaced,
    kind: row.kind,
    verbs: row.verbs,
    shortNames: row.shortNames,
    categories: row.categories,
    storageVersionHash: row.stored === undefined ? undefined : storageVersionHash(row.stored, row.kind),
  })
}

function foreignKind(groupVersion: string, home: string): object {
  if (groupVersion === home) return {}
  const { group, version } = splitApiVersion(groupVersion)
  return group === '' ? { version } : { group, version }
}

/** Equal hashes mean equal storage: that is all a client may read from it. */
function storageVersionHash(stored: string, kind: string): string {
  const { group, version } = splitApiVersion(stored)
  const digest = createHash('sha256').update(`${group}/${version}/${kind}`).digest()
  return digest.subarray(0, storageHashBytes).toString('base64')
}
