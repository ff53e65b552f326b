/** In which order groups and versions are presented. Clients take the first version that they know of a group. */

/** What an APIService says about its place among the others. */
export interface Priority {
  /** Of the group: the highest one of its versions counts. */
  readonly group: number
  /** Among the versions of the group. */
  readonly version: number
}

interface Ranked {
  readonly group: string
  readonly version: string
  readonly priority: Priority
}

export interface VersionsOfGroup<T> {
  readonly group: string
  /** The preferred one first; never empty. */
  readonly versions: readonly [T, ...T[]]
}

/** How groups of equal priority follow each other: the two kinds of discovery document do it differently. */
export type TieBreak = 'group-name' | 'api-service-name'

const kubeVersion = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/

/** All group versions by group, in the order of a discovery document. */
export function groupInOrder<T extends Ranked>(all: Iterable<T>, tieBreak: TieBreak): VersionsOfGroup<T>[] {
  const groups = new Map<string, [T, ...T[]]>()
  for (const one of all) {
    const known = groups.get(one.group)
    if (known === undefined) groups.set(one.group, [one])
    else known.push(one)
  }
  const named = [...groups].map(([group, versions]) => ({ group, versions: versions.sort(compareInGroup) }))
  return named.sort((a, b) => topPriority(b.versions) - topPriority(a.versions) || compareTied(a, b, tieBreak))
}

/** Stable before beta before alpha, the newest of each first; then everything that looks different, by name. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [rankOfVersion(a), rankOfVersion(b)]
  if (left === undefined || right === undefined) {
    if (left === undefined && right === undefined) return compareText(a, b)
    return left === undefined ? 1 : -1
  }
  const difference = left.findIndex((part, index) => part !== right[index])
  return difference === -1 ? 0 : (right[difference] ?? 0) - (left[difference] ?? 0)
}

/** True for versions such as v1 and v2, false for v1beta1 and for names of any other form. */
export function isStableVersion(version: string): boolean {
  const match = kubeVersion.exec(version)
  return match !== null && match[2] === undefined
}

function compareInGroup(a: Ranked, b: Ranked): number {
  return b.priority.version - a.priority.version || compareVersions(a.version, b.version)
}

function topPriority(versions: readonly Ranked[]): number {
  return Math.max(...versions.map(({ priority }) => priority.group))
}

function compareTied(a: VersionsOfGroup<Ranked>, b: VersionsOfGroup<Ranked>, tieBreak: TieBreak): number {
  if (tieBreak === 'group-name') return compareText(a.group, b.group)
  return compareText(`${a.versions[0].version}.${a.group}`, `${b.versions[0].version}.${b.group}`)
}

function rankOfVersion(version: string): readonly number[] | undefined {
  const match = kubeVersion.exec(version)
  if (match === null) return undefined
  const [, major, stage, minor] = match
  return [stage === undefined ? 2 : stage === 'beta' ? 1 : 0, Number(major), Number(minor ?? 0)]
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
