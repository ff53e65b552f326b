// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the planted sources contain templates.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { findBreaches, LONG_FILES, MAX_FILE_LINES } from './borders.ts'
import { splitSource } from './source-text.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

function readSources(): Map<string, string> {
  const names = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  const paths = names.filter((name) => name.endsWith('.ts')).map((name) => `src/${name}`)
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
}

describe('the sources', () => {
  const sources = readSources()

  it('are found', () => {
    expect(sources.has('src/cli/main.ts')).toBe(true)
    expect(sources.has('src/kube/objects.ts')).toBe(true)
  })

  it('keep the borders', () => {
    expect(findBreaches(sources)).toEqual([])
  })

  it('still need every exception that is listed', () => {
    for (const path of Object.keys(LONG_FILES)) {
      expect(existsSync(join(root, path)) && (sources.get(path) ?? '').split('\n').length > MAX_FILE_LINES).toBe(true)
    }
  })
})

/** Breaches of one planted file. */
function planted(path: string, code: string): string[] {
  return findBreaches(new Map([[path, `/** Planted. */\n${code}\n`]]))
}

describe('the checker, on planted sources', () => {
  it.each([
    ['src/telemetry/a.ts', '../kube/objects.ts'],
    ['src/kube/a.ts', '../identity/ca.ts'],
    ['src/kube/deep/a.ts', '../../cli/program.ts'],
    ['src/tunnel/a.ts', '../kube/objects.ts'],
    ['src/hub/a.ts', '../edge/agent.ts'],
    ['src/edge/a.ts', '../hub/registry.ts'],
    ['src/apiserver/a.ts', '../extension/authn.ts'],
    ['src/extension/a.ts', '../apiserver/chain.ts'],
    ['src/hub/a.ts', '../cli/failure.ts'],
    ['src/cli/a.ts', '../web/app.ts'],
    ['src/web/a.ts', '../kube/objects.ts'],
    ['src/cli/a.ts', '../../test/e2e/harness.ts'],
    ['src/cli/a.ts', '../../package.json'],
  ])('%s may not import %s, in whatever form', (path, target) => {
    const forms = [
      `import { x } from '${target}'`,
      `import type { x } from "${target}"`,
      `import {\n  x,\n} from '${target}'`,
      `import * as x from '${target}'`,
      `export { x } from '${target}'`,
      `export * from '${target}'`,
      `import '${target}'`,
      `const x = await import('${target}')`,
      `type X = import('${target}').X`,
    ]
    for (const form of forms) expect([form, planted(path, form).length]).toEqual([form, 1])
    expect(planted(path.replace('.ts', '.test.ts'), forms[0] ?? '')).toHaveLength(1)
  })

  it.each([
    ['src/kube/a.ts', '../runtime/clock.ts'],
    ['src/kube/deep/a.ts', '../objects.ts'],
    ['src/hub/a.ts', '../identity/ca.ts'],
    ['src/cli/a.ts', '../hub/compose.ts'],
    ['src/cli/a.ts', '../runtime/clock.ts'],
    ['src/telemetry/a.ts', 'node:http'],
    ['src/telemetry/a.ts', 'pino'],
  ])('%s may import %s', (path, target) => {
    expect(planted(path, `import { x } from '${target}'`)).toEqual([])
  })

  it('says where and what', () => {
    expect(planted('src/hub/a.ts', "\nimport { x } from '../edge/agent.ts'")).toEqual([
      'src/hub/a.ts:3: hub imports src/edge/agent.ts; it may import only runtime, protobuf, protocol, telemetry, network, process, identity, kube, http, tunnel',
    ])
  })

  it('wants every folder to have its place', () => {
    expect(planted('src/misc/a.ts', '')).toHaveLength(1)
    expect(planted('src/a.ts', '')).toHaveLength(1)
  })

  it.each(['export default 1', 'export default function f() {}', 'const a = 1\nexport { a as default }'])(
    'refuses %j',
    (code) => {
      expect(planted('src/kube/a.ts', code)).toHaveLength(1)
    },
  )

  it.each([
    'const a = Date.now()',
    'const a = new Date()',
    'performance.now()',
    'setTimeout(f, 1)',
    'globalThis.setInterval(f, 1)',
    "import { setTimeout } from 'node:timers/promises'",
    'AbortSignal.timeout(1)',
    'process.exit(1)',
    'Math.random()',
    "new URLSearchParams('a=1')",
    "new URL(text).searchParams.get('a')",
    "parseQuery('a=1')",
    'const a = `${Date.now()}`',
    'const a = `${{ a: `${1}` }.a} ${Date.now()} `',
    'const a = /"/; Date.now()',
    'const a = b / 2; Date.now() // c / d',
    "const a = '*/*'; Date.now()",
  ])('refuses %s', (code) => {
    expect(planted('src/kube/a.ts', code)).toHaveLength(1)
  })

  it.each([
    '// Date.now() is banned',
    '/* setTimeout */',
    "const a = 'Date.now()'",
    'const a = "process.exit(1)"',
    'const a = `setTimeout ${b} Date.now()`',
    'const a = /setTimeout/',
    "// import { x } from '../hub/a.ts'",
    'const a = new Date(b)',
    'process.exitCode = 1',
    'const resetTimeout = 1',
  ])('leaves %s alone', (code) => {
    expect(planted('src/kube/a.ts', code)).toEqual([])
  })

  it('lets the clock read time, the command line end the process, and tests do both', () => {
    expect(planted('src/runtime/clock.ts', 'Date.now(); setTimeout(f, 1)')).toEqual([])
    expect(planted('src/cli/main.ts', 'process.exit(1)')).toEqual([])
    expect(planted('src/kube/a.test.ts', 'Date.now()')).toEqual([])
  })

  it('wants a purpose at the top, also below a shebang, and not in tests', () => {
    const missing = ['src/kube/a.ts:1: does not open with a comment that says what the file is for']
    expect(findBreaches(new Map([['src/kube/a.ts', 'const a = 1\n']]))).toEqual(missing)
    expect(findBreaches(new Map([['src/kube/a.ts', '']]))).toEqual(missing)
    expect(findBreaches(new Map([['src/cli/a.ts', '#!/usr/bin/env node\n/** For x. */\n']]))).toEqual([])
    expect(findBreaches(new Map([['src/kube/a.test.ts', 'const a = 1\n']]))).toEqual([])
  })

  it('wants long files split', () => {
    expect(planted('src/kube/a.ts', 'x\n'.repeat(MAX_FILE_LINES))).toHaveLength(1)
    expect(planted('src/kube/a.ts', 'x\n'.repeat(MAX_FILE_LINES - 1))).toEqual([])
    expect(planted('src/kube/a.test.ts', 'x\n'.repeat(MAX_FILE_LINES))).toEqual([])
  })
})

describe('splitSource', () => {
  it('keeps every line where it was and loses no code of the real sources', () => {
    for (const [path, text] of readSources()) {
      const { codeOnly, withoutComments } = splitSource(text)
      expect([path, codeOnly.length, withoutComments.length]).toEqual([path, text.length, text.length])
      expect(codeOnly.split('\n').length).toBe(text.split('\n').length)
      // A string or comment that swallowed what follows would unbalance the braces.
      expect([path, codeOnly.split('{').length]).toEqual([path, codeOnly.split('}').length])
    }
  })
})
