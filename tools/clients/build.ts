/**
 * `npm run clients`: builds the in-cluster clients that the real suite starts. What is built already stays; what cannot be
 * built is named with its reason, and the suite goes on without it.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { buildFolder, buildStamp, type ClientProgram, clientPrograms, isBuilt, sourceFolder } from './catalogue.ts'

/** Compiling everything kube-rs depends on takes minutes on one core. */
const stepTimeoutMs = 30 * 60_000
const reasonLines = 6

/** Why the program could not be built, if so. A failed build leaves its folder, so that the next one is quicker. */
function build(program: ClientProgram): string | undefined {
  const folder = buildFolder(program)
  const stamp = buildStamp(program)
  rmSync(stamp.file, { force: true })
  mkdirSync(folder, { recursive: true })
  cpSync(sourceFolder(program.name), folder, { recursive: true })
  for (const [tool = '', ...args] of program.buildSteps) {
    const failure = runStep(tool, args, folder)
    if (failure !== undefined) return failure
  }
  writeFileSync(stamp.file, stamp.content)
  return undefined
}

function runStep(tool: string, args: readonly string[], cwd: string): string | undefined {
  // Whoever waits for something else on this machine goes first.
  const { status, error, stdout, stderr } = spawnSync('nice', ['-n', '15', tool, ...args], {
    cwd,
    encoding: 'utf8',
    timeout: stepTimeoutMs,
    env: { ...process.env, CGO_ENABLED: '0' },
  })
  if (status === 0) return undefined
  const output = error?.message ?? `${stdout}${stderr}`
  const reason = output.trim().split('\n').slice(-reasonLines).join('\n  ')
  return `${[tool, ...args].join(' ')}\n  ${reason}`
}

let failures = 0
for (const program of clientPrograms) {
  const title = `${program.name} (${program.library})`
  if (isBuilt(program)) {
    console.log(`${title}: built already`)
    continue
  }
  const failure = build(program)
  console.log(failure === undefined ? `${title}: built` : `${title}: not built: ${failure}`)
  if (failure !== undefined) failures++
}
process.exitCode = failures > 0 ? 1 : 0
