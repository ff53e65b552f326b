import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MAX_FILE_BYTES, readFileBounded, removeTemporaryFiles, writeFileAtomically } from './atomic-file.ts'
import { diskOperations, type FileOperations } from './file-operations.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'identity-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** The disk, but its operation number `failAt` and, if `forGood`, all later ones fail. */
function failing(failAt: number, forGood: boolean): { files: FileOperations; log: string[] } {
  const log: string[] = []
  async function step(name: string): Promise<void> {
    log.push(name)
    if (log.length === failAt || (forGood && log.length > failAt)) throw new Error(`injected at ${name}`)
  }
  const files: FileOperations = {
    create: async (path, mode) => {
      await step('create')
      const file = await diskOperations.create(path, mode)
      return {
        write: async (bytes) => {
          // A write that fails has often written something.
          await file.write(bytes.subarray(0, bytes.length / 2))
          await step('write')
          await file.write(bytes.subarray(bytes.length / 2))
        },
        sync: async () => await step('sync').then(() => file.sync()),
        close: async () => {
          await file.close()
          await step('close')
        },
      }
    },
    rename: async (from, to) => await step('rename').then(() => diskOperations.rename(from, to)),
    remove: async (path) => await step('remove').then(() => diskOperations.remove(path)),
    syncFolder: async (path) => await step('syncFolder').then(() => diskOperations.syncFolder(path)),
    read: async (path, maxBytes) => await diskOperations.read(path, maxBytes),
    list: async (path) => await diskOperations.list(path),
  }
  return { files, log }
}

describe('writeFileAtomically', () => {
  it('writes for the owner only, whatever was there', async () => {
    const path = join(folder, 'edge.key')
    writeFileSync(path, 'old', { mode: 0o644 })
    await writeFileAtomically(path, 'new')
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['edge.key'])
  })

  it('gives exactly the mode that was asked for', async () => {
    const before = process.umask(0o077)
    try {
      await writeFileAtomically(join(folder, 'ca.crt'), 'x', { mode: 0o644 })
    } finally {
      process.umask(before)
    }
    expect(statSync(join(folder, 'ca.crt')).mode & 0o777).toBe(0o644)
  })

  it('replaces a link, not what it points to', async () => {
    writeFileSync(join(folder, 'target'), 'untouched')
    symlinkSync('target', join(folder, 'link'))
    await writeFileAtomically(join(folder, 'link'), 'new')
    expect(readFileSync(join(folder, 'target'), 'utf8')).toBe('untouched')
    expect(readFileSync(join(folder, 'link'), 'utf8')).toBe('new')
  })

  it('forces content, then name to the disk, in this order', async () => {
    const { files, log } = failing(0, false)
    await writeFileAtomically(join(folder, 'a'), 'x', { files })
    expect(log).toEqual(['create', 'write', 'sync', 'close', 'rename', 'syncFolder'])
  })

  it.each([1, 2, 3, 4, 5, 6])('leaves the old or the new content when operation %i fails', async (failAt) => {
    for (const forGood of [false, true]) {
      const path = join(folder, `a-${forGood}`)
      writeFileSync(path, 'the old content')
      const { files } = failing(failAt, forGood)
      await expect(writeFileAtomically(path, 'the new content', { files })).rejects.toMatchObject({
        code: 'unwritable-file',
      })
      expect(readFileSync(path, 'utf8')).toBe(failAt === 6 ? 'the new content' : 'the old content')
      if (!forGood) expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([])
    }
  })

  it('lets concurrent writers have one whole winner', async () => {
    const path = join(folder, 'a')
    const contents = Array.from({ length: 10 }, (_, index) => String(index).repeat(5000))
    await Promise.all(contents.map((content) => writeFileAtomically(path, content)))
    expect(contents).toContain(readFileSync(path, 'utf8'))
    expect(readdirSync(folder)).toEqual(['a'])
  })

  it('says what is wrong', async () => {
    await expect(writeFileAtomically(join(folder, 'no', 'a'), 'x')).rejects.toThrow('its folder does not exist')
    writeFileSync(join(folder, 'file'), '')
    await expect(writeFileAtomically(join(folder, 'file', 'a'), 'x')).rejects.toThrow('a part of the path is a file')
  })
})

describe('removeTemporaryFiles', () => {
  it('removes what a crash left behind, and nothing else', async () => {
    const { files } = failing(5, true)
    await expect(writeFileAtomically(join(folder, 'edge.key'), 'secret', { files })).rejects.toThrow('injected')
    expect(readdirSync(folder)).toHaveLength(1)
    for (const name of ['.hidden', 'a.tmp', '.a.tmp', 'edge.crt']) writeFileSync(join(folder, name), '')
    await removeTemporaryFiles(folder)
    expect(readdirSync(folder).sort()).toEqual(['.a.tmp', '.hidden', 'a.tmp', 'edge.crt'])
  })
})

describe('readFileBounded', () => {
  it('reads all or nothing', async () => {
    const path = join(folder, 'a')
    expect(await readFileBounded(path)).toBeUndefined()
    writeFileSync(path, 'x'.repeat(100))
    expect((await readFileBounded(path, { maxBytes: 100 }))?.length).toBe(100)
    await expect(readFileBounded(path, { maxBytes: 99 })).rejects.toMatchObject({ code: 'too-large' })
    writeFileSync(path, '')
    expect(await readFileBounded(path)).toEqual(Buffer.alloc(0))
  })

  it('does not read more than its limit, nor what has no end', async () => {
    const large = join(folder, 'large')
    writeFileSync(large, Buffer.alloc(MAX_FILE_BYTES + 10))
    await expect(readFileBounded(large)).rejects.toMatchObject({ code: 'too-large' })
    expect((await diskOperations.read(large, MAX_FILE_BYTES))?.length).toBe(MAX_FILE_BYTES + 1)
    await expect(readFileBounded('/dev/zero')).rejects.toMatchObject({ code: 'unreadable-file' })
  })

  it('tells a folder from a file', async () => {
    await expect(readFileBounded(folder)).rejects.toMatchObject({ code: 'unreadable-file' })
  })
})
