import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadKubeconfig } from '../../kube/client/kubeconfig.ts'
import { AccountFolder } from './account-folder.ts'

const files = { token: 'abc', caPem: 'PEM\n', namespace: 'shop', tokenLifeMs: 1 }
let temporary: string

beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'causeway-account-'))
})
afterEach(() => rmSync(temporary, { recursive: true }))

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

describe('the folder of a service account', () => {
  it('has what pods have, and no newline too many', async () => {
    const folder = await AccountFolder.make(temporary)
    await folder.write(files)
    expect(readdirSync(folder.files).toSorted()).toEqual(['ca.crt', 'namespace', 'token'])
    expect(readFileSync(join(folder.files, 'token'), 'utf8')).toBe('abc')
    expect(readFileSync(join(folder.files, 'namespace'), 'utf8')).toBe('shop')
    expect(readFileSync(join(folder.files, 'ca.crt'), 'utf8')).toBe('PEM\n')
  })

  it('is closed to others, while what is shown inside is open', async () => {
    const folder = await AccountFolder.make(temporary)
    await folder.write(files)
    const modes = [dirname(folder.files), folder.files, join(folder.files, 'token')].map(modeOf)
    expect(modes).toEqual(['700', '755', '644'])
  })

  it('replaces a token in one go: another file takes its name', async () => {
    const folder = await AccountFolder.make(temporary)
    await folder.write(files)
    const before = statSync(join(folder.files, 'token')).ino
    await folder.write({ ...files, token: 'def' })
    expect(statSync(join(folder.files, 'token')).ino).not.toBe(before)
    expect(readFileSync(join(folder.files, 'token'), 'utf8')).toBe('def')
    expect(readdirSync(folder.files)).toHaveLength(3)
  })

  it('gives a kubeconfig without the token in it', async () => {
    const folder = await AccountFolder.make(temporary)
    await folder.write(files)
    await folder.writeKubeconfig('https://[fd00::9]:10550', 'shop')
    expect(modeOf(folder.kubeconfig)).toBe('600')
    expect(readFileSync(folder.kubeconfig, 'utf8')).not.toContain('abc')
    expect(await loadKubeconfig({ file: folder.kubeconfig })).toMatchObject({
      server: 'https://[fd00::9]:10550',
      namespace: 'shop',
      tls: { ca: { file: join(folder.files, 'ca.crt') } },
    })
  })

  it('leaves nothing behind', async () => {
    const folder = await AccountFolder.make(temporary)
    await folder.write(files)
    await folder.remove()
    expect(readdirSync(temporary)).toEqual([])
  })
})
