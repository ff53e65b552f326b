/** No test file is forgotten and none runs twice: the runner itself says which project has which file. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { slowFiles } from '../slow-files.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const runner = join(root, 'node_modules/vitest/vitest.mjs')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

/** Wherever one could be put by mistake; a test in a folder that no project includes would never run. */
const folders = ['src', 'test', 'bench', 'examples', 'tools']

function testFiles(): string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((path) => /\.(test|spec)\.[cm]?[jt]sx?$/.test(path) && !path.includes('node_modules'))
    .toSorted()
}

/** The runner that runs this file must not take the list for a part of itself. */
function listed(): { file: string; project: string }[] {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')))
  const output = execFileSync(process.execPath, [runner, 'list', '--filesOnly', '--json'], {
    cwd: root,
    env,
    encoding: 'utf8',
  })
  const entries = JSON.parse(output) as { file: string; projectName: string }[]
  return entries.map(({ file, projectName }) => ({ file: relative(root, file), project: projectName }))
}

describe('the suites', () => {
  let runs: ReturnType<typeof listed>
  beforeAll(() => {
    runs = listed()
  })

  it('have every test file exactly once', () => {
    expect(runs.length).toBeGreaterThan(400)
    expect(runs.map(({ file }) => file).toSorted()).toEqual(testFiles())
  })

  it('have in slow what is listed as slow, and nothing that is gone', () => {
    expect(slowFiles.filter((file) => !existsSync(join(root, file)))).toEqual([])
    const slow = runs.filter(({ project }) => project === 'slow').map(({ file }) => file)
    expect(slow.toSorted()).toEqual(slowFiles.toSorted())
  })

  it('are each run by a command, and all of them by .ci/run', () => {
    const projectsOf = (script: string) =>
      [...(scripts[script] ?? '').matchAll(/--project (\w+)/g)].map(([, project = '']) => project)
    const commands = ['test', 'test:slow', 'test:real']
    expect(commands.flatMap(projectsOf).toSorted()).toEqual([...new Set(runs.map(({ project }) => project))].toSorted())
    expect(scripts['test:all']).toBe('npm test && npm run test:slow')
    expect(projectsOf('test:long').toSorted()).toEqual(['e2e', 'slow', 'unit'])
    const steps = readFileSync(join(root, '.ci/run'), 'utf8')
    for (const step of ['npm test', 'npm run test:slow', 'npm run test:real']) expect(steps).toContain(`step ${step}\n`)
  })

  it('mock no modules where files share a process: the next file would get the mock, or the module without it', () => {
    const shared = runs.filter(({ project }) => project === 'unit' || project === 'e2e').map(({ file }) => file)
    const mocking = /\bvi\.(mock|doMock|resetModules|stubGlobal)\(/
    expect(shared.filter((file) => mocking.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
  })

  it('include the tour of the README in npm test', () => {
    expect(runs).toContainEqual({ file: 'test/e2e/readme.test.ts', project: 'e2e' })
  })
})
