/**
 * Resource versions are opaque, with one exception: since Kubernetes 1.35 those of built-in and custom resources are
 * decimal numbers that may be compared within one resource. A server that breaks this is read by equality alone.
 */
const decimal = /^[1-9][0-9]*$/

/** True when `version` is `known` itself, or provably came before it. */
export function isNotNewer(version: string, known: string): boolean {
  if (version === known) return true
  if (!decimal.test(version) || !decimal.test(known)) return false
  return version.length === known.length ? version < known : version.length < known.length
}

/** For sorting: the earlier first. Versions that must not be compared count as equal, and stay in their order. */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0
  if (isNotNewer(a, b)) return -1
  return isNotNewer(b, a) ? 1 : 0
}

/** True when both are numbers that may be compared. */
export function areComparable(a: string, b: string): boolean {
  return decimal.test(a) && decimal.test(b)
}
