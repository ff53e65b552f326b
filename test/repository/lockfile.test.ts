/** What is installed is pinned by version and by content, for whoever works on it and for whoever uses it. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { readIntegrity } from '../../tools/lockfile/integrity.ts'
import { leaveOut } from '../../tools/lockfile/left-out.ts'
import { type LockedPackage, type LockFile, readLock, writeLock } from '../../tools/lockfile/lock.ts'
import { shrinkwrapOf } from '../../tools/lockfile/shrinkwrap.ts'
import { removeFolder } from '../remove-folder.ts'

const manifest = fileURLToPath(new URL('../../package.json', import.meta.url))
const lock = readLock()
const installed = Object.entries(lock.packages).filter(([place, entry]) => place !== '' && entry.link !== true)
const integrity = /^sha512-[A-Za-z0-9+/]{86}==$/
const exactVersion = /^\d+\.\d+\.\d+(-[\w.-]+)?$/

/** Tools for other platforms whose integrity was never asked for with success. Shorten this list, do not lengthen it. */
const unverified = /^node_modules\/@(biomejs|oxc-parser|oxlint|oxlint-tsgolint|rolldown)\//
const isToolOfAnotherPlatform = ([place, entry]: [string, LockedPackage]) =>
  unverified.test(place) && entry.dev === true && entry.optional === true && entry.os !== undefined

const locked = (packages: Record<string, LockedPackage>): LockFile => ({
  name: 'ours',
  version: '1.0.0',
  lockfileVersion: 3,
  requires: true,
  packages,
})

describe('package-lock.json', () => {
  it('has an exact version and no host for every entry', () => {
    expect(installed.length).toBeGreaterThan(100)
    expect(installed.filter(([, entry]) => !exactVersion.test(entry.version ?? ''))).toEqual([])
    expect(installed.filter(([, entry]) => entry.resolved !== undefined)).toEqual([])
  })

  it('has the integrity of every entry, tools of a few other platforms excepted', () => {
    const without = installed.filter(([, entry]) => !integrity.test(entry.integrity ?? ''))
    expect(without.filter((entry) => !isToolOfAnotherPlatform(entry))).toEqual([])
  })

  it('leaves out what npm run lockfile leaves out', () => {
    const packages = structuredClone(lock.packages)
    leaveOut(packages)
    expect(Object.keys(packages)).toEqual(Object.keys(lock.packages))
  })
})

describe('the shrinkwrap', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-shrinkwrap-'))
  afterAll(() => removeFolder(folder))

  it('has everything that is installed for users, with its integrity', () => {
    const { '': own, ...others } = shrinkwrapOf(lock).packages
    const entries = Object.values(others)
    expect(Object.keys(others)).toEqual(
      expect.arrayContaining(Object.keys(own?.dependencies ?? {}).map((name) => `node_modules/${name}`)),
    )
    expect(Object.keys(others).filter((place) => place.startsWith('node_modules/@lmdb/')).length).toBeGreaterThan(1)
    expect(entries.filter((entry) => !integrity.test(entry.integrity ?? ''))).toEqual([])
    expect(own?.devDependencies).toBeUndefined()
  })

  it('has nothing that only development needs', () => {
    const { packages } = shrinkwrapOf(
      locked({
        '': { dependencies: { a: '1.0.0' }, devDependencies: { tool: '1.0.0', both: '1.0.0' } },
        'node_modules/a': { version: '1.0.0', dependencies: { b: '^1.0.0' }, optionalDependencies: { both: '1.0.0' } },
        'node_modules/a/node_modules/b': {
          version: '1.2.0',
          peerDependencies: { peer: '1', tool: '1' },
          peerDependenciesMeta: { tool: { optional: true } },
        },
        'node_modules/b': { version: '2.0.0', dev: true },
        'node_modules/both': { version: '1.0.0', devOptional: true },
        'node_modules/peer': { version: '1.0.0' },
        'node_modules/tool': { version: '1.0.0', devOptional: true, dependencies: { b: '2.0.0' } },
      }),
    )
    expect(Object.keys(packages)).toEqual([
      '',
      'node_modules/a',
      'node_modules/a/node_modules/b',
      'node_modules/both',
      'node_modules/peer',
    ])
    expect(packages['node_modules/both']).toEqual({ version: '1.0.0', optional: true })
    expect(packages['']).toEqual({ dependencies: { a: '1.0.0' } })
  })

  it('is in the package that npm packs', () => {
    copyFileSync(manifest, join(folder, 'package.json'))
    writeLock(join(folder, 'npm-shrinkwrap.json'), shrinkwrapOf(lock))
    const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [packed] = JSON.parse(output) as { files: { path: string }[] }[]
    expect(packed?.files.map((file) => file.path)).toContain('npm-shrinkwrap.json')
  })
})

describe('an answer of npm about integrity', () => {
  const hash = `sha512-${'A'.repeat(86)}==`

  it('is taken if it is a hash', () => {
    expect(readIntegrity('a@1.0.0', `"${hash}"\n`)).toBe(hash)
  })

  it('is none for what the registry does not know', () => {
    expect(readIntegrity('a@9.9.9', '')).toBeUndefined()
    expect(readIntegrity('a@1.0.0', '{ "error": { "code": "E404", "summary": "Not Found" } }')).toBeUndefined()
  })

  it('is an error for everything else', () => {
    const failed = '{ "error": { "code": "ENOTFOUND", "summary": "no such host" } }'
    expect(() => readIntegrity('a@1.0.0', failed)).toThrow('integrity of a@1.0.0 is: no such host')
    expect(() => readIntegrity('a@1.0.0', '"sha1-short"')).toThrow('integrity of a@1.0.0 is: "sha1-short"')
  })
})
