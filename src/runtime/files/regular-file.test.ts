import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { diskOperations } from './file-operations.ts'
import { readRegularFile } from './regular-file.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-regular-'))
  writeFileSync(join(folder, 'file'), 'content')
  execFileSync('mkfifo', [join(folder, 'pipe')])
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('a file by a name that somebody gave', () => {
  it('is read', async () => {
    expect(readRegularFile(join(folder, 'file')).toString()).toBe('content')
    expect((await diskOperations.read(join(folder, 'file'), 100))?.toString()).toBe('content')
  })

  it.each(['a pipe', 'a folder', 'a device'])('is refused at once where it is %s', async (what) => {
    const paths: Record<string, string> = {
      'a pipe': join(folder, 'pipe'),
      'a folder': folder,
      'a device': '/dev/null',
    }
    const path = paths[what] as string
    const problem = what === 'a folder' ? 'it is a folder' : 'it is not a regular file'
    expect(() => readRegularFile(path)).toThrow(problem)
    await expect(diskOperations.read(path, 100)).rejects.toThrow(problem)
  })
})
