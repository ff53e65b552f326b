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
