/** Builds the resource catalogue from the discovery documents that Kubernetes publishes with each release. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type {
  CatalogueTable,
  GroupVersionRow,
  ResourceRow,
  SubresourceRow,
} from '../../src/kube/schema/catalogue-table.ts'

interface DiscoveryResource {
  name: string
  singularName: string
  namespaced: boolean
  kind: string
  group?: string
  version?: string
  verbs: string[]
  shortNames?: string[]
  categories?: string[]
  storageVersionHash?: string
}

interface DiscoveryGroup {
  name: string
  versions: { version: string }[]
  preferredVersion: { version: string }
}

/** Versions that some group stores or once stored in; a stored version is found by trying them against its hash. */
const candidateVersions = ['v1', 'v2', 'v1beta3', 'v1beta2', 'v1beta1', 'v1alpha3', 'v1alpha2', 'v1alpha1']

export function buildCatalogue(kubernetesFolder: string): CatalogueTable {
  const read = (name: string): unknown =>
    JSON.parse(readFileSync(join(kubernetesFolder, 'api/discovery', name), 'utf8'))
  const core: DiscoveryGroup = { name: '', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } }
  const groups = [core, ...(read('apis.json') as { groups: DiscoveryGroup[] }).groups]
  const groupNames = groups.map((group) => group.name)
  const rows: GroupVersionRow[] = []
  for (const group of groups) {
    for (const { version } of group.versions) {
      const file = group.name === '' ? `api__${version}.json` : `apis__${group.name}__${version}.json`
      const { resources } = read(file) as { resources: DiscoveryResource[] }
      const preferred = group.preferredVersion.version === version
      rows.push({ group: group.name, version, preferred, resources: buildResources(resources, groupNames) })
    }
  }
  return { groups: rows }
}

function buildResources(documents: readonly DiscoveryResource[], groupNames: readonly string[]): ResourceRow[] {
  const rows = new Map<string, ResourceRow>()
  for (const document of documents.filter(({ name }) => !name.includes('/'))) {
    rows.set(document.name, buildResource(document, groupNames))
  }
  for (const document of documents.filter(({ name }) => name.includes('/'))) {
    const [resource = '', ...rest] = document.name.split('/')
    const parent = rows.get(resource)
    if (parent === undefined) throw new Error(`subresource ${document.name} without its resource`)
    const subresource: SubresourceRow = { name: rest.join('/'), kind: document.kind, verbs: document.verbs }
    if (document.version !== undefined)
      subresource.groupVersion = joinGroupVersion(document.group ?? '', document.version)
    parent.subresources = [...(parent.subresources ?? []), subresource]
  }
  return [...rows.values()]
}

function buildResource(document: DiscoveryResource, groupNames: readonly string[]): ResourceRow {
  const row: ResourceRow = {
    resource: document.name,
    kind: document.kind,
    singular: document.singularName,
    namespaced: document.namespaced,
    verbs: document.verbs,
  }
  if (document.shortNames !== undefined) row.shortNames = document.shortNames
  if (document.categories !== undefined) row.categories = document.categories
  if (document.storageVersionHash !== undefined) row.stored = storedVersion(document, groupNames)
  return row
}

/** Discovery does not name the stored version but gives a hash over `group/version/kind`. */
function storedVersion({ kind, storageVersionHash }: DiscoveryResource, groupNames: readonly string[]): string {
  for (const group of groupNames) {
    for (const version of candidateVersions) {
      const digest = createHash('sha256').update(`${group}/${version}/${kind}`).digest()
      if (digest.subarray(0, 8).toString('base64') === storageVersionHash) return joinGroupVersion(group, version)
    }
  }
  throw new Error(`${kind}: no known version has the storage hash ${storageVersionHash}`)
}

function joinGroupVersion(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}
