/**
 * Builds one program from its published module, in a module of its own that is thrown away: Go's caches keep what is worth
 * keeping. A program appears in its folder whole or not at all.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GoModule, PeerGroup, PeerProgram } from './catalogue.ts'
import { GoError, go } from './go.ts'

const stripped = ['-s', '-w']

export async function buildPeer(group: PeerGroup, program: PeerProgram, bin: string): Promise<void> {
  mkdirSync(bin, { recursive: true })
  const work = mkdtempSync(join(tmpdir(), 'causeway-peers-'))
  // On the disk of its destination, or it could not be renamed.
  const unfinished = join(bin, `.${program.name}.${process.pid}`)
  try {
    await prepareModule(group, program, work)
    const flags = ['-ldflags', [...stripped, ...(group.linkerFlags ?? [])].join(' '), '-o', unfinished]
    await go(work, [...(program.isTestBinary === true ? ['test', '-c'] : ['build']), ...flags, program.goPackage])
    renameSync(unfinished, join(bin, program.name))
  } finally {
    rmSync(unfinished, { force: true })
    rmSync(work, { recursive: true, force: true })
  }
}

async function prepareModule(group: PeerGroup, program: PeerProgram, work: string): Promise<void> {
  await go(work, ['mod', 'init', `causeway.invalid/${group.name}`])
  const replacements = group.replacements(await requirements(group, work))
  if (replacements.length > 0) {
    await go(work, ['mod', 'edit', ...replacements.map(({ path, by }) => `-replace=${path}=${by}`)])
  }
  const kind = program.isTestBinary === true ? ['-t'] : []
  await go(work, ['get', ...kind, `${program.goPackage}@${group.version}`])
}

async function requirements({ goModule, version }: PeerGroup, work: string): Promise<GoModule> {
  const printed = await go(work, ['mod', 'download', '-json', `${goModule}@${version}`])
  const { GoMod } = JSON.parse(printed) as { GoMod?: string }
  if (GoMod === undefined) throw new GoError(`${goModule}@${version} has no go.mod`)
  return JSON.parse(await go(work, ['mod', 'edit', '-json', GoMod])) as GoModule
}

/** The version that a program was built from: `undefined` if there is none, or it does not say. */
export async function builtVersion(group: PeerGroup, file: string): Promise<string | undefined> {
  if (!existsSync(file)) return undefined
  try {
    return versionIn(await go('/', ['version', '-m', file]), group.goModule)
  } catch {
    return undefined
  }
}

export function versionIn(buildInfo: string, goModule: string): string | undefined {
  const columns = buildInfo.split('\n').map((line) => line.trim().split('\t'))
  return columns.find(([kind, path]) => (kind === 'mod' || kind === 'dep') && path === goModule)?.[2]
}
