/**
 * The in-cluster clients of the real suite: programs of a page each around the published Kubernetes client libraries. They
 * are built outside the repository, in `CAUSEWAY_CLIENTS` or the user's cache. Versions are pinned beside the sources.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ClientProgram {
  /** Names the folder of its sources as well. */
  readonly name: string
  readonly library: string
  /** Run one after the other in a copy of the sources. */
  readonly buildSteps: readonly (readonly string[])[]
  /** What runs it, given the folder it was built in. */
  command(folder: string): readonly string[]
}

const sources = fileURLToPath(new URL('../../test/real/in-cluster-clients', import.meta.url))
const stampFile = 'built-from'
const dependencyPlugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'

export const clientPrograms: readonly ClientProgram[] = [
  {
    name: 'go',
    library: 'client-go',
    buildSteps: [['go', 'build', '-o', 'in-cluster-client', '.']],
    command: (folder) => [join(folder, 'in-cluster-client')],
  },
  {
    name: 'python',
    library: 'kubernetes',
    buildSteps: [
      ['python3', '-m', 'venv', 'environment'],
      ['environment/bin/pip', 'install', '--quiet', '--requirement', 'requirements.txt'],
    ],
    command: (folder) => [join(folder, 'environment/bin/python'), join(folder, 'main.py')],
  },
  {
    name: 'javascript',
    library: '@kubernetes/client-node',
    buildSteps: [['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund']],
    command: (folder) => [process.execPath, join(folder, 'main.js')],
  },
  {
    name: 'java',
    library: 'client-java',
    buildSteps: [
      ['mvn', '--batch-mode', '--quiet', `${dependencyPlugin}:copy-dependencies`, '-DoutputDirectory=libraries'],
      ['javac', '-cp', 'libraries/*', '-d', 'classes', 'src/main/java/InCluster.java'],
    ],
    command: (folder) => ['java', '-cp', `${join(folder, 'classes')}:${join(folder, 'libraries/*')}`, 'InCluster'],
  },
  {
    name: 'rust',
    library: 'kube',
    // One job and no optimisation: it shares the machine, and speed is not what it is for.
    buildSteps: [['cargo', 'build', '--quiet', '--locked', '--jobs', '1', '--target-dir', 'target']],
    command: (folder) => [join(folder, 'target/debug/in-cluster-client')],
  },
]

function clientsDirectory(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return process.env['CAUSEWAY_CLIENTS'] || join(cache, 'causeway-clients')
}

export function sourceFolder(name: string): string {
  return join(sources, name)
}

export function buildFolder(program: ClientProgram): string {
  return join(clientsDirectory(), program.name)
}

/** The file that a finished build leaves, and what stands in it: a build of other sources is none. */
export function buildStamp(program: ClientProgram): { readonly file: string; readonly content: string } {
  const hash = createHash('sha256').update(JSON.stringify(program.buildSteps))
  const folder = sourceFolder(program.name)
  for (const file of filesBelow(folder)) hash.update(relative(folder, file)).update(readFileSync(file))
  return { file: join(buildFolder(program), stampFile), content: hash.digest('hex') }
}

export function isBuilt(program: ClientProgram): boolean {
  const { file, content } = buildStamp(program)
  try {
    return readFileSync(file, 'utf8') === content
  } catch {
    return false
  }
}

function filesBelow(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map((file) => join(file.parentPath, file.name)).toSorted()
}
