/** Whoever installs the package has what its messages and pages tell them to use. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const { files } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { files: string[] }
const read = (folder: string, ending: string): string =>
  readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => readFileSync(`${root}${folder}/${file}`, 'utf8'))
    .join('\n')

describe('the package', () => {
  it('has the manifests that are named in messages and pages', () => {
    const named = new Set(
      [...`${read('src', '.ts')}${read('docs', '.md')}`.matchAll(/deploy\/[\w-]+\.yaml/g)].map(String),
    )
    expect(named).toContain('deploy/hub-rbac.yaml')
    expect([...named].filter((file) => !existsSync(root + file))).toEqual([])
    expect(files).toContain('deploy')
  })

  it('has every page, and the README leads to each', () => {
    const pages = readdirSync(`${root}docs`).filter((name) => name.endsWith('.md'))
    const readme = readFileSync(`${root}README.md`, 'utf8')
    expect(pages).toContain('operations.md')
    expect(files).toContain('docs')
    expect(
      ['architecture', 'security', 'operations', 'errors'].filter((page) => !readme.includes(`docs/${page}.md`)),
    ).toEqual([])
  })
})
