import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ownIdentity } from '../process-identity.ts'
import { signFolder, sweepStaleFolders } from './stale-folders.ts'

let temporary: string

beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'causeway-stale-'))
})
afterEach(() => rmSync(temporary, { recursive: true }))

function folder(name: string): string {
  const path = join(temporary, name)
  mkdirSync(join(path, 'serviceaccount'), { recursive: true })
  return path
}

const gone = { ...ownIdentity(), pid: spawnSync('true').pid, birth: `${ownIdentity().birth.split('/')[0]}/1` }

describe('folders of runs that were killed', () => {
  it('are removed, and those of running ones are not', async () => {
    await signFolder(folder('causeway-run-a'), gone)
    await signFolder(folder('causeway-run-b'))
    await sweepStaleFolders(temporary)
    expect(readdirSync(temporary)).toEqual(['causeway-run-b'])
  })

  it('are left alone where nothing is known of their owner, or they are no such folders', async () => {
    folder('causeway-run-unsigned')
    writeFileSync(join(folder('causeway-run-damaged'), 'owner.json'), '{')
    writeFileSync(join(temporary, 'causeway-run-file'), '')
    const elsewhere = folder('elsewhere')
    await signFolder(elsewhere, gone)
    symlinkSync(elsewhere, join(temporary, 'causeway-run-link'))
    const before = readdirSync(temporary)
    await sweepStaleFolders(temporary)
    expect(readdirSync(temporary)).toEqual(before)
    expect(readdirSync(elsewhere)).toContain('owner.json')
  })

  it('need no folder to be there', async () => {
    await expect(sweepStaleFolders(join(temporary, 'missing'))).resolves.toBeUndefined()
  })
})
