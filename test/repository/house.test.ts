/** The table of folders in docs/architecture.md says what stands, and what the borders enforce. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { MAY_IMPORT } from './borders.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(`${root}docs/architecture.md`, 'utf8')

interface Row {
  readonly folder: string
  readonly mayImport: string
}

const rows: readonly Row[] = [...page.matchAll(/^\| `((?:src|test|tools)\/[a-z0-9]+)` \| [^|]+ \|([^|]*)\|$/gm)].map(
  ([, folder = '', mayImport = '']) => ({ folder, mayImport: mayImport.trim() }),
)

function foldersOf(parent: string): string[] {
  const entries = readdirSync(`${root}${parent}`, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${parent}/${name}`)
}

/** The words of the table as a list of folders. */
function allowed(words: string): readonly string[] | undefined {
  if (words === 'nothing of ours') return []
  if (words.startsWith('the foundations')) return MAY_IMPORT['apiserver']
  return words === 'everything' ? MAY_IMPORT['cli'] : words.split(', ')
}

describe('the table of folders', () => {
  it.each(['src', 'tools', 'test'])('has every folder of %s, and no other', (parent) => {
    const named = rows.map(({ folder }) => folder).filter((folder) => folder.startsWith(`${parent}/`))
    expect(named.toSorted()).toEqual(foldersOf(parent).toSorted())
  })

  it('says what each may import', () => {
    for (const { folder, mayImport } of rows.filter((row) => row.folder.startsWith('src/'))) {
      expect([folder, allowed(mayImport)]).toEqual([folder, MAY_IMPORT[folder.slice('src/'.length)]])
    }
  })
})

describe('the page of the architecture', () => {
  it.each(['apiserver', 'hub', 'edge'])('names every file that puts %s together', (role) => {
    const files = readdirSync(`${root}src/${role}`).filter((name) => /^compose.*(?<!\.test)\.ts$/.test(name))
    expect(files.length).toBeGreaterThan(1)
    expect(files.filter((name) => !page.includes(`${name}\``))).toEqual([])
  })

  it('has every folder of src/kube in its picture', () => {
    const section = page.slice(page.indexOf('## The Kubernetes wire'), page.indexOf('## The API server'))
    const names = foldersOf('src/kube').map((folder) => folder.slice('src/kube/'.length))
    expect(names.filter((name) => !section.includes(` ${name}/`))).toEqual([])
  })
})

describe('the pages about the house', () => {
  it.each(['docs/architecture.md', 'docs/security.md', 'CONTRIBUTING.md'])('%s names only what is there', (name) => {
    const text = readFileSync(`${root}${name}`, 'utf8')
    const named = [...text.matchAll(/`((?:src|test|tools|docs|bench)\/[\w./-]+)`/g)].map(([, path = '']) => path)
    expect(named.filter((path) => !existsSync(`${root}${path}`))).toEqual([])
    expect(named.length).toBeGreaterThan(3)
  })
})
