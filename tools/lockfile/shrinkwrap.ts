/**
 * The shrinkwrap of the published package: the entries of the lock file that whoever installs it gets, and no others. npm
 * honours it inside a package, where it never looks at a package-lock.json.
 */
import { type LockedPackage, type LockFile, reachedPlaces } from './lock.ts'

export function shrinkwrapOf(lock: LockFile): LockFile {
  const kept = reachedPlaces(lock.packages, installed)
  const packages = Object.entries(lock.packages).filter(([place]) => kept.has(place))
  return { ...lock, packages: Object.fromEntries(packages.map(([place, entry]) => [place, withoutDev(entry)])) }
}

function installed({ dependencies, optionalDependencies, ...entry }: LockedPackage): string[] {
  const peers = Object.keys(entry.peerDependencies ?? {})
  return [
    ...Object.keys({ ...dependencies, ...optionalDependencies }),
    ...peers.filter((name) => entry.peerDependenciesMeta?.[name]?.optional !== true),
  ]
}

function withoutDev({ dev: _dev, devOptional, devDependencies: _devDependencies, ...entry }: LockedPackage) {
  // What development needs and the package may do without is optional for whoever installs it.
  return devOptional === true ? { ...entry, optional: true } : entry
}
