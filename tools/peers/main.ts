/**
 * `npm run peers`: builds the real programs that are missing. What cannot be built is named with its reason, and the rest
 * goes on.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { buildPeer, builtVersion } from './build.ts'
import { type PeerGroup, type PeerProgram, peerGroups } from './catalogue.ts'
import { peersDirectory } from './directory.ts'
import { GoError, hasGo } from './go.ts'

interface Wanted {
  readonly group: PeerGroup
  readonly program: PeerProgram
}

const bytesPerMegabyte = 1_000_000
const all: readonly Wanted[] = peerGroups.flatMap((group) => group.programs.map((program) => ({ group, program })))

function help(): string {
  const line = ({ name, version, programs, isExtra }: PeerGroup) =>
    `  ${name} ${version}${isExtra === true ? ' (only by name)' : ''}: ${programs.map((program) => program.name).join(', ')}`
  return `usage: npm run peers [-- NAME...]

Builds the programs that the real suite and the benches need from their published Go modules, if they are not there
yet, into CAUSEWAY_PEERS_BIN or ~/.cache/causeway-peers/bin. Needs Go and its module proxy. A NAME is a group or a program:

${peerGroups.map(line).join('\n')}
`
}

function choose(names: readonly string[]): Wanted[] {
  if (names.length === 0) return all.filter(({ group }) => group.isExtra !== true)
  return all.filter((wanted) => names.some((name) => isCalled(wanted, name)))
}

function isCalled({ group, program }: Wanted, name: string): boolean {
  return group.name === name || program.name === name
}

/** One that does not say its version was put there by somebody who knows. */
async function isThere({ group, program }: Wanted, bin: string): Promise<boolean> {
  const file = join(bin, program.name)
  return existsSync(file) && ((await builtVersion(group, file)) ?? group.version) === group.version
}

/** Whether it was built. */
async function build({ group, program }: Wanted, bin: string): Promise<boolean> {
  const title = `${program.name} ${group.version}`
  console.log(`${title}: building`)
  try {
    await buildPeer(group, program, bin)
  } catch (error) {
    if (!(error instanceof GoError)) throw error
    console.log(`${title}: not built: ${error.message}`)
    return false
  }
  const megabytes = Math.round(statSync(join(bin, program.name)).size / bytesPerMegabyte)
  console.log(`${title}: built, ${megabytes} MB`)
  return true
}

/** The exit code. */
async function main(names: readonly string[]): Promise<number> {
  const bin = peersDirectory()
  const unknown = names.filter((name) => !all.some((wanted) => isCalled(wanted, name)))
  if (unknown.length > 0) {
    console.log(`no program or group is called ${unknown.join(', ')}\n\n${help()}`)
    return 2
  }
  const wanted = choose(names)
  const missing: Wanted[] = []
  for (const one of wanted) if (!(await isThere(one, bin))) missing.push(one)
  console.log(`${bin}: ${wanted.length - missing.length} of ${wanted.length} programs are there`)
  if (missing.length > 0 && !(await hasGo())) {
    console.log(`no go on the PATH: it is needed to build ${missing.map(({ program }) => program.name).join(', ')}`)
    return 1
  }
  let failures = 0
  for (const one of missing) {
    if (!(await build(one, bin))) failures++
    if (isInterrupted) return 130
  }
  return failures === 0 ? 0 : 1
}

// Ctrl-C reaches Go as well; what is half built is removed when it has ended.
let isInterrupted = false
process.once('SIGINT', () => {
  isInterrupted = true
})
const names = process.argv.slice(2)
if (names.includes('--help') || names.includes('-h')) console.log(help())
else process.exitCode = await main(names)
