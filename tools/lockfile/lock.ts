/** What this repository reads and writes of npm's lock file, version 3. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface LockedPackage {
  name?: string
  version?: string
  resolved?: string
  integrity?: string
  cpu?: string[]
  os?: string[]
  libc?: string[]
  link?: boolean
  dev?: boolean
  devOptional?: boolean
  optional?: boolean
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

export interface LockFile {
  name: string
  version: string
  lockfileVersion: number
  requires: boolean
  /** By place: `''` is the package itself, `node_modules/a/node_modules/b` is what only `a` sees as `b`. */
  packages: Record<string, LockedPackage>
}

const root = new URL('../../', import.meta.url)
export const lockFile: string = fileURLToPath(new URL('package-lock.json', root))
export const shrinkwrapFile: string = fileURLToPath(new URL('npm-shrinkwrap.json', root))

export function readLock(): LockFile {
  return JSON.parse(readFileSync(lockFile, 'utf8')) as LockFile
}

export function writeLock(file: string, lock: LockFile): void {
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
}

/** The places of the package itself and of all that it needs, where `namesOf` says what an entry needs. */
export function reachedPlaces(
  packages: LockFile['packages'],
  namesOf: (entry: LockedPackage) => readonly string[],
): ReadonlySet<string> {
  const reached = new Set([''])
  // A set that grows while it is walked is walked to its end.
  for (const place of reached) {
    for (const name of namesOf(packages[place] ?? {})) {
      const target = placeOf(packages, name, place)
      if (target !== undefined) reached.add(target)
    }
  }
  return reached
}

/** Where a package that stands at `place` finds `name`, as Node looks for it. */
function placeOf(packages: LockFile['packages'], name: string, place: string): string | undefined {
  for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const candidate = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (packages[candidate] !== undefined) return candidate
    if (folder === '') return undefined
  }
}

/** The name that the registry knows it by; an alias is installed under another one. */
export function packageName(place: string, { name }: LockedPackage): string {
  return name ?? place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
}
