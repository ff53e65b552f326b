/**
 * The entry of a platform package that npm left out. What it is for follows from its name, since exact versions and
 * platforms are all that the package that wants it says.
 */
import type { LockedPackage } from './lock.ts'

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64']
const otherNames: Readonly<Record<string, string>> = { windows: 'win32', armv7: 'arm', arm: 'arm' }

export function platformPackage(name: string, version: string, parent: LockedPackage): LockedPackage {
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
