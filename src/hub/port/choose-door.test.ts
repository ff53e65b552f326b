import { describe, expect, it } from 'vitest'
import { Refusal } from '../refusal.ts'
import { doorChooser } from './choose-door.ts'
import type { ClusterDoor } from './connection.ts'

const north = { cluster: { name: 'north' } } as unknown as ClusterDoor
const south = { cluster: { name: 'south' } } as unknown as ClusterDoor

describe('doorChooser', () => {
  it('leads to the only cluster, whatever the name', () => {
    const choose = doorChooser([{ door: north, serverNames: [], isDefault: false }])
    for (const name of [undefined, 'anything.example.com', '']) expect(choose(name)).toBe(north)
  })

  it('tells several apart by their names, in any spelling', () => {
    const choose = doorChooser([
      { door: north, serverNames: ['north.example.com', 'n.example.com'], isDefault: false },
      { door: south, serverNames: ['south.example.com'], isDefault: false },
    ])
    expect(choose('North.Example.Com')).toBe(north)
    expect(choose('n.example.com.')).toBe(north)
    expect(choose('south.example.com')).toBe(south)
  })

  it('refuses names that are none of theirs, also where there is a default', () => {
    const choose = doorChooser([
      { door: north, serverNames: ['north.example.com'], isDefault: true },
      { door: south, serverNames: ['south.example.com'], isDefault: false },
    ])
    expect(choose('east.example.com')).toMatchObject({ code: 'unknown-cluster' })
    expect(choose(undefined)).toBe(north)
  })

  it('says what to do to a client that named none', () => {
    const choose = doorChooser([
      { door: north, serverNames: ['north.example.com'], isDefault: false },
      { door: south, serverNames: ['south.example.com'], isDefault: false },
    ])
    const refusal = choose(undefined)
    expect(refusal).toBeInstanceOf(Refusal)
    expect(refusal).toHaveProperty('message', expect.stringContaining('use the DNS name of yours'))
  })
})
