/** Runs the same kubectl commands against two servers and puts what they print in a form in which it can be compared. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { peersDirectory } from '../control-plane.ts'

export interface Group {
  readonly name: string
  readonly lines: readonly string[]
}

/** What a user sees of one command. */
export interface Outcome {
  readonly line: string
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const folder = fileURLToPath(new URL('.', import.meta.url))
/** What people do in `kubectl edit`. */
const editor = 'sed -i s/before/after/'
const maxOutputBytes = 16 * 1024 * 1024
/** A command that waits for what never comes must not hold up the rest. */
const commandTimeoutMs = 90_000

export function parseGroups(text: string): Group[] {
  const groups: { name: string; lines: string[] }[] = []
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const name = /^\[(.*)\]$/.exec(line)?.[1]
    if (name === undefined) groups.at(-1)?.lines.push(line)
    else groups.push({ name, lines: [] })
  }
  return groups
}

export async function runGroup(group: Group, kubeconfigFile: string): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const line of group.lines) outcomes.push(await runLine(line, kubeconfigFile))
  return outcomes
}

function runLine(line: string, kubeconfigFile: string): Promise<Outcome> {
  const env = { ...process.env, KUBECONFIG: kubeconfigFile, KUBE_EDITOR: editor }
  const options = { cwd: folder, env, maxBuffer: maxOutputBytes, timeout: commandTimeoutMs }
  return new Promise((resolve) => {
    const child = execFile(join(peersDirectory(), 'kubectl'), words(line), options, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code ?? -1)
      const shown = line.startsWith('explain ') ? structureOf(stdout) : stdout
      resolve({ line, code, stdout: comparable(shown), stderr: comparable(stderr) })
    })
    child.stdin?.end()
  })
}

/** Single quotes keep spaces together. */
function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|\S+/g)].map((match) => match[1] ?? match[0])
}

/** The texts about fields are ours; which fields there are, and of which type, is not for us to say. */
function structureOf(explained: string): string {
  return explained
    .split('\n')
    .filter((line) => /\t<|^(GROUP|KIND|VERSION|FIELD|FIELDS):|^ *(ENUM|enum):/.test(line))
    .join('\n')
}

/** What differs between any two servers, or between any two runs on one. */
const replacements: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID'],
  [/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'],
  [/\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME'],
  [/20\d\d-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC/g, 'TIME'],
  [/(Resource Version: +)\d+/g, '$1N'],
  [/(resourceVersion: |"resourceVersion":\s*)"\d+"/g, '$1"N"'],
  [/https:\/\/127\.0\.0\.1:\d+/g, 'https://SERVER'],
  [/127\.0\.0\.1:\d+/g, 'SERVER'],
  // Addresses and ports that the server chose.
  [/\b10\.96\.(?!0\.1\b)\d+\.\d+\b/g, 'CLUSTER-IP'],
  [/\b3[0-2]\d{3}\b/g, 'NODE-PORT'],
  // What a controller in kube-apiserver says of a service that is newer than what it knows of addresses: now and then.
  [/^.*ClusterIPNotAllocated.*\n/gm, ''],
  // Tokens.
  [/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'TOKEN'],
  // Random ends of names that kubectl or the server made.
  [/(debugger-|node-debugger-n1-)[a-z0-9]{5}/g, '$1RANDOM'],
  // Folders that `kubectl diff` makes, and the times of the files in them.
  [/\/tmp\/(LIVE|MERGED)-\d+/g, '$1'],
  [/\t20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}/g, ''],
  // Ages and times since, with the blanks that fill their column.
  [/(?<=\s)<?\d+[smh](\d+[sm])?( ago)?>?(?=\s|$|\))/g, 'AGE'],
  [/ {2,}/g, '  '],
  [/[ \t]+$/gm, ''],
]

function comparable(printed: string): string {
  let text = printed
  for (const [pattern, replacement] of replacements) text = text.replace(pattern, replacement)
  return text
}
