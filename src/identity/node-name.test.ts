import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DistinguishedName } from './distinguished-name.ts'
import { MAX_NODE_NAME_LENGTH, NODES_GROUP, nodeNameProblem, nodeOfSubject, nodeSubject } from './node-name.ts'

describe('node names', () => {
  const good = ['a', '0', 'edge-1', 'edge-1.site.example', '10.0.0.1', 'a--b', 'x'.repeat(63), 'x'.repeat(253)]
  it.each(good)('takes %s', (name) => expect(nodeNameProblem(name)).toBeUndefined())

  const bad = [
    '',
    'Edge',
    '-a',
    'a-',
    '.a',
    'a.',
    'a..b',
    'a.-b',
    'a-.b',
    'a_b',
    'a b',
    'a/b',
    'a:b',
    '*',
    'a\n',
    '\na',
    'a\u0000',
    'é',
    'ａ',
    '%61',
    '../a',
    'system:node:a',
  ]
  it.each(bad)('refuses %j', (name) => expect(nodeNameProblem(name)).toMatch(/node name/))

  it('refuses what is too long, with both lengths', () => {
    const name = 'x'.repeat(MAX_NODE_NAME_LENGTH + 1)
    expect(nodeNameProblem(name)).toBe('a node name has at most 253 characters, this one has 254')
  })

  it('takes long hostile names in no time', () => {
    expect(nodeNameProblem(`${'a-'.repeat(126)}!`)).toContain('is not a node name')
    expect(nodeNameProblem(`${'a.'.repeat(126)}!`)).toContain('is not a node name')
  })

  it('agrees with the rule spelled out', () => {
    const part = /^[a-z0-9]$|^[a-z0-9][-a-z0-9]*[a-z0-9]$/
    const letters = fc.string({ unit: fc.constantFrom('a', 'z', '0', '9', '-', '.', 'A', '_', ' '), maxLength: 12 })
    fc.assert(
      fc.property(letters, (name) => {
        expect(nodeNameProblem(name) === undefined).toBe(name.split('.').every((text) => part.test(text)))
      }),
    )
  })
})

describe('the subject of a node', () => {
  const group = { type: 'O', value: NODES_GROUP } as const
  const named = { type: 'CN', value: 'system:node:edge-1' } as const

  it('says the node and is read back, in either order of its parts', () => {
    expect(nodeSubject('edge-1')).toEqual([group, named])
    expect(nodeOfSubject(nodeSubject('edge-1'))).toBe('edge-1')
    expect(nodeOfSubject([named, group])).toBe('edge-1')
  })

  const others: Record<string, DistinguishedName> = {
    'nobody at all': [],
    'no group': [named],
    'no name': [group],
    'an administrator': [{ type: 'O', value: 'system:masters' }, named],
    'a node that is also an administrator': [group, { type: 'O', value: 'system:masters' }, named],
    'the group twice': [group, group, named],
    'two names': [group, named, { type: 'CN', value: 'system:node:edge-2' }],
    'a unit besides': [group, named, { type: 'OU', value: 'x' }],
    'the group as a unit': [{ type: 'OU', value: NODES_GROUP }, named],
    'a user': [group, { type: 'CN', value: 'kubernetes-admin' }],
    'a name in capitals': [group, { type: 'CN', value: 'SYSTEM:NODE:edge-1' }],
    'an empty node name': [group, { type: 'CN', value: 'system:node:' }],
    'an invalid node name': [group, { type: 'CN', value: 'system:node:Edge_1' }],
    'a name in a name': [group, { type: 'CN', value: 'system:node:system:node:edge-1' }],
    'space before the name': [group, { type: 'CN', value: ' system:node:edge-1' }],
    'a group with space': [{ type: 'O', value: `${NODES_GROUP} ` }, named],
    'a name that is no text': [group, { type: 'CN', value: '#0c0165' }],
  }
  it.each(Object.entries(others))('is not: %s', (_what, subject) => expect(nodeOfSubject(subject)).toBeUndefined())
})
