/**
 * The rules of the house, as a function over sources: which folder may import which, what may be called where, and the
 * shape every file has. Each rule carries its reason, which is printed with the breach.
 */
import { posix } from 'node:path'
import { type SourceText, splitSource } from './source-text.ts'

/** What the files of each folder of `src/` may import besides their own folder: the table in docs/architecture.md. */
const FOUNDATIONS = [
  'runtime',
  'protobuf',
  'protocol',
  'telemetry',
  'network',
  'process',
  'identity',
  'kube',
  'http',
  'tunnel',
]
const ROLES = ['apiserver', 'hub', 'edge', 'extension']
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  protobuf: [],
  protocol: [],
  telemetry: ['runtime'],
  network: ['runtime'],
  process: ['runtime', 'telemetry', 'network'],
  identity: ['runtime', 'network'],
  kube: ['runtime', 'protobuf', 'network'],
  http: ['runtime', 'telemetry', 'network', 'process', 'identity'],
  tunnel: ['runtime', 'protobuf', 'protocol', 'network', 'process'],
  apiserver: FOUNDATIONS,
  hub: FOUNDATIONS,
  edge: FOUNDATIONS,
  extension: FOUNDATIONS,
  cli: [...FOUNDATIONS, ...ROLES],
  web: [],
}

export const MAX_FILE_LINES = 400

/** Files that are longer on purpose, with the reason. */
export const LONG_FILES: Readonly<Record<string, string>> = {}

interface Ban {
  readonly pattern: RegExp
  readonly allowedIn: (path: string) => boolean
  readonly reason: string
}

const onlyTheClock = (path: string): boolean => path === 'src/runtime/clock.ts'
const USE_THE_CLOCK = 'take a Clock (src/runtime/clock.ts), so that tests move time by hand'

const onlyChance = (path: string): boolean => path === 'src/runtime/random.ts'

const BANS: readonly Ban[] = [
  {
    pattern: /\bMath\.random\b/g,
    allowedIn: onlyChance,
    reason: 'take a Random, or its fraction (src/runtime/random.ts), so that tests can foretell it',
  },
  { pattern: /\bDate\.now\b/g, allowedIn: onlyTheClock, reason: USE_THE_CLOCK },
  { pattern: /\bnew Date\(\s*\)/g, allowedIn: onlyTheClock, reason: USE_THE_CLOCK },
  { pattern: /\bperformance\.now\b/g, allowedIn: onlyTheClock, reason: USE_THE_CLOCK },
  { pattern: /\b(?:setTimeout|setInterval)\b/g, allowedIn: onlyTheClock, reason: USE_THE_CLOCK },
  { pattern: /\bAbortSignal\.timeout\b/g, allowedIn: onlyTheClock, reason: USE_THE_CLOCK },
  {
    pattern: /\brejectUnauthorized\b|\bnew TLSSocket\b|from 'node:https'/g,
    allowedIn: (path) => path.startsWith('src/network/tls/'),
    reason: 'secure a connection by src/network/tls, which says whom to believe and lets no certificate cost too much',
  },
  {
    pattern: /\bURLSearchParams\b|\.searchParams\b|\bquerystring\b/g,
    // Its query decides about nothing but how much is shown to whoever may ask.
    allowedIn: (path) => path === 'src/process/health-server.ts',
    reason: 'a request is read once (readRequest in src/kube/request-info.ts), and other readers see another request',
  },
  {
    pattern: /\bparseQuery\(/g,
    allowedIn: (path) =>
      ['src/kube/request-query.ts', 'src/kube/request-info.ts', 'src/hub/konnectivity/identifiers.ts'].includes(path),
    reason: 'the query of a request comes with its reading (readRequest in src/kube/request-info.ts)',
  },
  {
    pattern: /\bprocess\.exit\b/g,
    allowedIn: (path) => path.startsWith('src/cli/'),
    reason: 'only the command line ends the process; everything else throws or reports',
  },
]

/** Every breach in the given sources (path from the root of the repository -> text), as `path:line: what`. */
export function findBreaches(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([path, text]) => {
    const source = splitSource(text)
    const breaches = [...importBreaches(path, source), ...exportBreaches(path, source)]
    if (!path.endsWith('.test.ts')) breaches.push(...callBreaches(path, source), ...shapeBreaches(path, text))
    return breaches
  })
}

/** The module specifiers of static imports, re-exports, side-effect imports and dynamic imports. */
const IMPORT = /\b(?:from|import)\s*\(?\s*(['"])([^'"\n]+)\1/g

/** The files that a file imports by relative path, from the root of the repository, and the lines of the imports. */
export function importsOf(path: string, text: string): { readonly target: string; readonly line: number }[] {
  return relativeImports(path, splitSource(text))
}

function relativeImports(path: string, { withoutComments }: SourceText): { target: string; line: number }[] {
  return [...withoutComments.matchAll(IMPORT)]
    .filter(([, , specifier = '']) => specifier.startsWith('.'))
    .map((match) => ({
      target: posix.join(posix.dirname(path), match[2] ?? ''),
      line: lineAt(withoutComments, match.index),
    }))
}

function importBreaches(path: string, source: SourceText): string[] {
  const folder = folderOf(path)
  const allowed = folder === undefined ? undefined : MAY_IMPORT[folder]
  if (folder === undefined || allowed === undefined) {
    return [`${path}:1: stands in no folder that has a place in the layers; give it one in test/repository/borders.ts`]
  }
  const breaches: string[] = []
  for (const { target, line } of relativeImports(path, source)) {
    // Tests beside the sources use the same worlds as those that stand apart.
    if (path.endsWith('.test.ts') && (target.startsWith('test/worlds/') || target === 'test/remove-folder.ts')) continue
    const targetFolder = folderOf(target)
    if (targetFolder === folder || (targetFolder !== undefined && allowed.includes(targetFolder))) continue
    const may = allowed.length === 0 ? 'nothing else of ours' : `only ${allowed.join(', ')}`
    breaches.push(`${path}:${line}: ${folder} imports ${target}; it may import ${may}`)
  }
  return breaches
}

function folderOf(path: string): string | undefined {
  const [root, folder, file] = path.split('/')
  return root === 'src' && file !== undefined ? folder : undefined
}

function exportBreaches(path: string, { codeOnly }: SourceText): string[] {
  return [...codeOnly.matchAll(/\bexport\s+default\b|\bas\s+default\b/g)].map(
    ({ index }) => `${path}:${lineAt(codeOnly, index)}: default export; name it, so that it has one name everywhere`,
  )
}

function callBreaches(path: string, { codeOnly }: SourceText): string[] {
  return BANS.filter(({ allowedIn }) => !allowedIn(path)).flatMap(({ pattern, reason }) =>
    [...codeOnly.matchAll(pattern)].map(
      (match) => `${path}:${lineAt(codeOnly, match.index)}: ${match[0]} is not used here; ${reason}`,
    ),
  )
}

function shapeBreaches(path: string, text: string): string[] {
  const breaches: string[] = []
  if (!/^(?:#![^\n]*\n)?(?:\/\*\*|\/\/)/.test(text)) {
    breaches.push(`${path}:1: does not open with a comment that says what the file is for`)
  }
  const lines = text.trimEnd().split('\n').length
  if (lines > MAX_FILE_LINES && !Object.hasOwn(LONG_FILES, path)) {
    breaches.push(
      `${path}:${lines}: ${lines} lines; split it, or list it with its reason in test/repository/borders.ts`,
    )
  }
  return breaches
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
