import { describe, expect, it } from 'vitest'
import { learnType, typeOfList } from './kept-list.ts'
import { KeptObject } from './kept-object.ts'

const apiVersion = 'example.com/v1'
const metadata = { name: 'a', uid: 'u', resourceVersion: '1' }
const gadget = new KeptObject('json', Buffer.from(JSON.stringify({ apiVersion, kind: 'Gadget', metadata })))
const listed = { apiVersion, kind: 'Gadget', listKind: 'Toolbox' }

describe('what the objects of a collection are', () => {
  it('is what a list and an object of it say, whatever the list is called', () => {
    expect(learnType(undefined, typeOfList({ apiVersion, kind: 'Toolbox' }, gadget))).toEqual(listed)
    expect(learnType(undefined, typeOfList({ apiVersion, kind: 'ThingList' }, gadget))).toMatchObject({
      kind: 'Gadget',
    })
  })

  it('is guessed from an object alone, until a list says it', () => {
    const guessed = learnType(undefined, { apiVersion, kind: 'Gadget' })
    expect(guessed).toEqual({ apiVersion, kind: 'Gadget', listKind: 'GadgetList', isListKindGuessed: true })
    expect(learnType(guessed, typeOfList({ apiVersion, kind: 'Toolbox' }))).toEqual(listed)
    expect(learnType(guessed, typeOfList({ apiVersion, kind: 'GadgetList' }))).toEqual({
      apiVersion,
      kind: 'Gadget',
      listKind: 'GadgetList',
    })
  })

  it('is of an empty list what its name says, until an object says it', () => {
    const empty = learnType(undefined, typeOfList({ apiVersion, kind: 'ThingList' }))
    expect(empty).toEqual({ apiVersion, kind: 'Thing', listKind: 'ThingList' })
    expect(learnType(empty, { apiVersion, kind: 'Gadget' })).toEqual({ ...listed, listKind: 'ThingList' })
    const nameless = learnType(undefined, typeOfList({ apiVersion, kind: 'Toolbox' }))
    expect(nameless).toMatchObject({ kind: '', listKind: 'Toolbox' })
    expect(learnType(nameless, { apiVersion, kind: 'Gadget' })).toEqual(listed)
  })

  it('is the same as before where nothing is new', () => {
    for (const learned of [
      typeOfList({ apiVersion, kind: 'Toolbox' }),
      { apiVersion, kind: 'Gadget' },
      { apiVersion, kind: '' },
    ])
      expect(learnType(listed, learned)).toBe(listed)
    expect(learnType(listed, typeOfList({ apiVersion, kind: '' }))).toBe(listed)
  })
})
