/** The rooms inside the roles keep their borders, and the table of rooms says what stands. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { crossingsOf, findRoomBreaches, placeOf, ROOMS } from './rooms.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(`${root}docs/architecture.md`, 'utf8')
const roles = Object.keys(ROOMS)

function sourcesOf(role: string): Map<string, string> {
  const names = readdirSync(`${root}src/${role}`, { recursive: true, encoding: 'utf8' })
  const paths = names.filter((name) => name.endsWith('.ts')).map((name) => `src/${role}/${name}`)
  return new Map(paths.map((path) => [path, readFileSync(root + path, 'utf8')]))
}

describe.each(roles)('the rooms of %s', (role) => {
  const sources = sourcesOf(role)
  const rooms = Object.entries(ROOMS[role] ?? {})

  it('keep their borders', () => {
    expect(findRoomBreaches(sources)).toEqual([])
  })

  it('are in the table, and no others', () => {
    const found = [...sources.keys()].map((path) => placeOf(path)?.room ?? '').filter((room) => room !== 'compose')
    expect([...new Set(found)].sort()).toEqual(rooms.map(([room]) => room).sort())
  })

  it('import only rooms above them, so that there is no circle', () => {
    const above: string[] = []
    for (const [room, mayImport] of rooms) {
      expect([room, mayImport.filter((other) => !above.includes(other))]).toEqual([room, []])
      above.push(room)
    }
  })

  it('need every import that they may have', () => {
    const used = new Set(crossingsOf(sources).map(({ from, to }) => `${from} -> ${to}`))
    const allowed = rooms.flatMap(([room, mayImport]) => mayImport.map((other) => `${room} -> ${other}`))
    expect(allowed.filter((crossing) => !used.has(crossing))).toEqual([])
  })

  it('stand in docs/architecture.md with what they may import, in the same order', () => {
    const row = new RegExp(`^\\| \`${role}/([a-z-]+)\` \\| [^|]+ \\| ([^|]*) \\|$`, 'gm')
    const told = [...page.matchAll(row)].map(([, room, mayImport]) => [room, mayImport])
    const expected = rooms.map(([room, mayImport]) => [room, mayImport.join(', ') || 'no other room'])
    expect(told).toEqual([...expected, ['compose', 'every room']])
  })
})

describe('the checker of rooms, on planted sources', () => {
  const planted = (path: string, target: string): string[] =>
    findRoomBreaches(new Map([[path, `/** Planted. */\nimport { x } from '${target}'\n`]]))

  it.each([
    ['src/apiserver/auth/tokens/a.ts', '../../core/object-cache.ts'],
    ['src/apiserver/kinds/a.ts', '../auth/modes.ts'],
    ['src/apiserver/core/a.ts', '../compose.ts'],
    ['src/apiserver/new-room/a.ts', '../core/read.ts'],
    ['src/apiserver/setup-error.ts', './storage/store.ts'],
    ['src/hub/shared/a.ts', '../claims/claim.ts'],
    ['src/edge/hub/a.ts', '../rotation/rotation-core.ts'],
  ])('%s may not import %s', (path, target) => {
    expect(planted(path, target)).toHaveLength(1)
  })

  it.each([
    ['src/apiserver/core/a.ts', '../auth/review.ts'],
    ['src/apiserver/core/write/a.ts', '../read.ts'],
    ['src/apiserver/auth/a.ts', '../setup-error.ts'],
    ['src/apiserver/compose-auth.ts', './core/read.ts'],
    ['src/apiserver/kinds/a.test.ts', '../core/read.ts'],
    ['src/apiserver/kinds/a.ts', '../../kube/objects.ts'],
  ])('%s may import %s', (path, target) => {
    expect(planted(path, target)).toEqual([])
  })

  it('says where and what', () => {
    expect(planted('src/apiserver/kinds/a.ts', '../auth/modes.ts')).toEqual([
      'src/apiserver/kinds/a.ts:2: apiserver/kinds imports apiserver/auth; of its role it may import request',
    ])
  })
})
