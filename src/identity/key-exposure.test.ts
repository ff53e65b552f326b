import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keyExposure } from './key-exposure.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'key-'))
  path = join(folder, 'edge.key')
  writeFileSync(path, 'key')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a private key', () => {
  it.each([0o600, 0o400, 0o700])('of mode %o is its owner’s alone', async (mode) => {
    chmodSync(path, mode)
    expect(await keyExposure(path)).toBeUndefined()
  })

  it.each([0o644, 0o640, 0o660, 0o604])('of mode %o is worth a warning that says how to mend it', async (mode) => {
    chmodSync(path, mode)
    const shown = `0${mode.toString(8)}`
    expect(await keyExposure(path, 'the key of this node')).toBe(
      `${path} has the mode ${shown}: others than its owner may use the key of this node; chmod 0600 ${path}`,
    )
  })

  it('that is not there is no business of this check', async () => {
    expect(await keyExposure(join(folder, 'none'))).toBeUndefined()
  })

  it('is “this key” where nobody says whose it is', async () => {
    for (const mode of [0o644, 0o620]) {
      chmodSync(path, mode)
      const shown = `0${mode.toString(8)}`
      expect(await keyExposure(path)).toBe(
        `${path} has the mode ${shown}: others than its owner may use this key; chmod 0600 ${path}`,
      )
    }
  })
})
