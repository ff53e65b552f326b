/**
 * `npm run lockfile`: completes package-lock.json with the platform packages that npm left out. A lock file written on one
 * platform may lack the binaries of the others, and then installs without them there; `npm ci` refuses it altogether. What
 * is missing follows from the optional dependencies: exact versions, and a platform in the name.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

interface LockedPackage {
  version?: string
  cpu?: string[]
  os?: string[]
  libc?: string[]
  dev?: boolean
  devOptional?: boolean
  optional?: boolean
  optionalDependencies?: Record<string, string>
}

const file = fileURLToPath(new URL('../../package-lock.json', import.meta.url))
const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64']
const otherNames: Readonly<Record<string, string>> = { windows: 'win32', armv7: 'arm', arm: 'arm' }

function platformPackage(name: string, version: string, parent: LockedPackage): LockedPackage {
  const words = name.split(/[-/]/).map((word) => otherNames[word] ?? word)
  const system = words.find((word) => systems.includes(word))
  const processor = words.find((word) => processors.includes(word))
  const libc = words.some((word) => /musl/.test(word))
    ? 'musl'
    : words.some((word) => /gnu/.test(word))
      ? 'glibc'
      : undefined
  return {
    version,
    ...(processor === undefined ? {} : { cpu: [processor] }),
    ...(parent.dev === true ? { dev: true } : {}),
    ...(system === 'linux' && libc !== undefined ? { libc: [libc] } : {}),
    optional: true,
    // Without a system npm would try everywhere; an unknown word means a platform that we do not know.
    os: [system ?? 'unknown'],
  }
}

const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockedPackage> }
const added: string[] = []
for (const parent of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const place = `node_modules/${name}`
    if (lock.packages[place] !== undefined) continue
    if (!/^\d/.test(version)) throw new Error(`${name}: ${version} is no exact version, so it cannot be completed`)
    lock.packages[place] = platformPackage(name, version, parent)
    added.push(`${name}@${version}`)
  }
}
const sorted = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(file, `${JSON.stringify({ ...lock, packages: sorted }, null, 2)}\n`)
console.log(
  added.length === 0 ? 'package-lock.json is complete' : `added to package-lock.json:\n  ${added.join('\n  ')}`,
)
