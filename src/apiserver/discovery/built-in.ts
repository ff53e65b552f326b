/** The built-in group versions: which of them are served, and their places among all others. */
import { type GroupVersionRow, listGroupVersions } from '../../kube/schema/catalogue.ts'
import { isStableVersion, type Priority } from './order.ts'
import type { DiscoveryGroupVersion } from './source.ts'

/** Above everything that an APIService may ask for: this group is always the first. */
const firstOfAll = 20_001

/** The priorities that kube-apiserver gives to its own groups. */
const groupPriorities: Readonly<Record<string, number>> = {
  '': 18_000,
  'apiregistration.k8s.io': firstOfAll,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'admissionregistration.k8s.io': 16_700,
  'apiextensions.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
  'resource.k8s.io': 16_200,
  'flowcontrol.apiserver.k8s.io': 16_100,
  'internal.apiserver.k8s.io': 16_000,
  'storagemigration.k8s.io': 15_800,
}

/** Versions whose priority is not that of their stage; the key is `group/version`. */
const versionPriorities: Readonly<Record<string, number>> = {
  '/v1': 1,
  'autoscaling/v2': 30,
  'admissionregistration.k8s.io/v1beta1': 12,
  'admissionregistration.k8s.io/v1alpha1': 9,
  'coordination.k8s.io/v1beta1': 13,
  'coordination.k8s.io/v1alpha2': 12,
  'flowcontrol.apiserver.k8s.io/v1': 21,
  'internal.apiserver.k8s.io/v1alpha1': 9,
  'resource.k8s.io/v1': 21,
  'resource.k8s.io/v1beta2': 15,
  'scheduling.k8s.io/v1alpha2': 2,
}
const stagePriorities = { stable: 15, beta: 9, alpha: 1 } as const

/** For a built-in group that has no place in the table. */
const unlistedGroupPriority = 1_000

export type GroupVersionChoice = (group: string, version: string) => boolean

/** What a kube-apiserver serves unless told otherwise: alpha and beta versions are off. */
function servedByDefault(_group: string, version: string): boolean {
  return isStableVersion(version)
}

export function builtInGroupVersions(served: GroupVersionChoice = servedByDefault): DiscoveryGroupVersion[] {
  return listGroupVersions()
    .filter(({ group, version }) => served(group, version))
    .map((row) => ({
      group: row.group,
      version: row.version,
      priority: builtInPriority(row),
      freshness: 'Current',
      resources: row.resources,
    }))
}

/** What the APIService of a built-in group version carries. */
export function builtInPriority({ group, version }: Pick<GroupVersionRow, 'group' | 'version'>): Priority {
  return {
    group: groupPriorities[group] ?? unlistedGroupPriority,
    version: versionPriorities[`${group}/${version}`] ?? stagePriorities[stageOf(version)],
  }
}

function stageOf(version: string): keyof typeof stagePriorities {
  if (isStableVersion(version)) return 'stable'
  return version.includes('beta') ? 'beta' : 'alpha'
}
