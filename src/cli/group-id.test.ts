import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readGroupId } from './group-id.ts'

function groupFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-group-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'group')
  writeFileSync(file, 'root:x:0:\nbroken\n+nis::x:\nkube-apiserver:x:987:alice,bob\n')
  return file
}

describe('a group', () => {
  it('is found by its name, and taken by its number', () => {
    const file = groupFile()
    expect(['root', 'kube-apiserver', '0', '4294967294'].map((text) => readGroupId(text, file))).toEqual([
      0, 987, 0, 4_294_967_294,
    ])
  })

  it.each([
    ['', 'group= needs the name or the number of a group'],
    ['4294967295', '4294967295 is not the number of a group: the largest is 4294967294'],
    ['alice', 'there is no group "alice" in '],
    ['broken', 'there is no group "broken" in '],
    ['+nis', 'there is no group "+nis" in '],
    ['-1', 'there is no group "-1" in '],
  ])('that is none is refused: %j', (text, problem) => {
    expect(() => readGroupId(text, groupFile())).toThrow(problem)
  })

  it('needs its number where names cannot be looked up', () => {
    expect(() => readGroupId('kube', '/no/such/file')).toThrow(
      /^cannot look up names of groups: ENOENT.*use its number$/,
    )
  })
})
