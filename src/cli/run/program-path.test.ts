import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { programProblem } from './program-path.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-path-'))
  mkdirSync(join(folder, 'bin/folder'), { recursive: true })
  writeFileSync(join(folder, 'bin/tool'), '#!/bin/sh\n')
  chmodSync(join(folder, 'bin/tool'), 0o755)
  writeFileSync(join(folder, 'bin/text'), 'text')
  chmodSync(join(folder, 'bin/text'), 0o644)
})
afterEach(() => rmSync(folder, { recursive: true }))

const exitCode = (name: string, path = join(folder, 'bin')): number | undefined =>
  programProblem(name, `/nonexistent:${path}`, folder)?.exitCode

describe('a program', () => {
  it('is found in PATH, by its path, and in relative parts of PATH', () => {
    expect(['tool', './bin/tool', 'bin/tool', join(folder, 'bin/tool')].map((name) => exitCode(name))).toEqual(
      Array(4).fill(undefined),
    )
    expect(exitCode('tool', 'bin')).toBeUndefined()
  })

  it.each(['nothing', './nothing', 'folder', 'bin/folder', '', 'tool/'])('%j is not found: 127', (name) => {
    expect(exitCode(name)).toBe(127)
  })

  it('that may not be run is told so: 126', () => {
    expect(programProblem('text', join(folder, 'bin'), folder)).toEqual({
      exitCode: 126,
      message: 'text is there, but this user may not run it',
    })
  })
})
