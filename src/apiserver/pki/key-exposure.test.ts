import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { keyExposures } from './key-exposure.ts'

const folder = mkdtempSync(join(tmpdir(), 'causeway-keys-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileWith(mode: number): string {
  const path = join(folder, mode.toString(8))
  writeFileSync(path, 'key')
  chmodSync(path, mode)
  return path
}

describe('keyExposures', () => {
  it('names what others may use, how that shows, and what to do; not what is the owner’s alone or missing', async () => {
    const paths = [fileWith(0o600), fileWith(0o644), join(folder, 'none'), fileWith(0o400), fileWith(0o620)]
    expect(await keyExposures(paths)).toEqual([
      `${paths[1]} has the mode 0644: others than its owner may use this key; chmod 0600 ${paths[1]}`,
      `${paths[4]} has the mode 0620: others than its owner may use this key; chmod 0600 ${paths[4]}`,
    ])
  })
})
