/**
 * Optional packages that we do without. npm asks the entry of a package, not the package, what it depends on: an entry that
 * does not mention an optional dependency installs without it, here and, by the shrinkwrap, wherever ours is installed.
 */
import { type LockedPackage, type LockFile, reachedPlaces } from './lock.ts'

/** Native code that speeds up a format which we never use: LMDB holds bytes. */
const leftOut: readonly string[] = ['msgpackr-extract']

export function leaveOut(packages: LockFile['packages']): void {
  for (const entry of Object.values(packages)) {
    const { optionalDependencies } = entry
    if (optionalDependencies === undefined) continue
    for (const name of leftOut) delete optionalDependencies[name]
    if (Object.keys(optionalDependencies).length === 0) delete entry.optionalDependencies
  }
  const reached = reachedPlaces(packages, needed)
  for (const place of Object.keys(packages)) if (!reached.has(place)) delete packages[place]
}

function needed({ dependencies, devDependencies, optionalDependencies, peerDependencies }: LockedPackage): string[] {
  return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies, ...peerDependencies })
}
