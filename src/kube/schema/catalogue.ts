/**
 * The built-in resources of the release: what discovery would say about each, and in which version it is stored. A path
 * names resources, an object names kinds; this is where one leads to the other.
 */
import type { CatalogueTable, GroupVersionRow, ResourceRow } from './catalogue-table.ts'
import { readSchemaFile } from './schema.ts'

export type { GroupVersionRow, ResourceRow, SubresourceRow } from './catalogue-table.ts'

let loaded: Map<string, GroupVersionRow> | undefined

/** Every group version in discovery order. */
export function listGroupVersions(): GroupVersionRow[] {
  return [...groupVersions().values()]
}

/** A resource by the plural name that paths use; group is empty for core. */
export function findResource(group: string, version: string, resource: string): ResourceRow | undefined {
  return groupVersions()
    .get(joinGroupVersion(group, version))
    ?.resources.find((row) => row.resource === resource)
}

/** A resource by the kind of its objects. */
export function findResourceOfKind(apiVersion: string, kind: string): ResourceRow | undefined {
  return groupVersions()
    .get(apiVersion)
    ?.resources.find((row) => row.kind === kind)
}

/** What objects write into apiVersion: `v1` for core, else `group/version`. */
export function joinGroupVersion(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

export function splitApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/')
  return slash === -1
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}

function groupVersions(): Map<string, GroupVersionRow> {
  loaded ??= new Map(
    (readSchemaFile('catalogue') as CatalogueTable).groups.map((row) => [
      joinGroupVersion(row.group, row.version),
      row,
    ]),
  )
  return loaded
}
