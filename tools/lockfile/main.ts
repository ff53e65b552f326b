/**
 * `npm run lockfile`: completes package-lock.json after a change of dependencies. A lock file written on one platform may
 * lack the binaries of the others, and then installs without them there; `npm ci` refuses it altogether. What is missing
 * follows from the optional dependencies: exact versions, and a platform in the name. Then every entry gets its integrity.
 */
import { existsSync } from 'node:fs'
import { publishedIntegrity } from './integrity.ts'
import { leaveOut } from './left-out.ts'
import { type LockFile, lockFile, packageName, readLock, shrinkwrapFile, writeLock } from './lock.ts'
import { platformPackage } from './platform-package.ts'

function addPlatforms(packages: LockFile['packages']): void {
  for (const parent of Object.values(packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const place = `node_modules/${name}`
      if (packages[place] !== undefined) continue
      if (!/^\d/.test(version)) throw new Error(`${name}: ${version} is no exact version, so it cannot be completed`)
      packages[place] = platformPackage(name, version, parent)
      console.log(`added ${name}@${version}`)
    }
  }
}

/** The tools of another platform may be missing from a mirror of the registry; what users install may not. */
function addIntegrity(packages: LockFile['packages']): void {
  for (const [place, entry] of Object.entries(packages)) {
    if (place === '' || entry.link === true || entry.integrity !== undefined) continue
    const { version, ...rest } = entry
    if (version === undefined) throw new Error(`${place} has no version; run npm install first`)
    const what = `${packageName(place, entry)}@${version}`
    const integrity = publishedIntegrity(what)
    if (integrity === undefined && entry.dev !== true) throw new Error(`the registry does not know ${what}`)
    if (integrity === undefined) {
      console.log(`no integrity for ${what}: the registry does not know it`)
      continue
    }
    // Where npm itself puts it: right behind the version.
    packages[place] = { version, integrity, ...rest }
    console.log(`added the integrity of ${what}`)
  }
}

// npm prefers it to package-lock.json, so that what it wrote just now may have gone there.
if (existsSync(shrinkwrapFile)) throw new Error('npm-shrinkwrap.json was left by an interrupted pack; remove it first')
const lock = readLock()
leaveOut(lock.packages)
addPlatforms(lock.packages)
addIntegrity(lock.packages)
const sorted = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeLock(lockFile, { ...lock, packages: sorted })
console.log('package-lock.json is complete')
