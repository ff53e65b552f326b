import { array, assert, integer, option, property, record, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OBJECT_FILTERS } from './filter-list.ts'
import { type FilterView, readView, textBefore, viewText, writeView } from './filter-view.ts'
import { masterService } from './master-service.ts'

const endpoint = { address: '169.254.30.10', port: 10_550 }
const all: FilterView = { filters: OBJECT_FILTERS.map(({ name }) => name), endpoint }

describe('a view', () => {
  it('is another for those whom a filter or its endpoint concerns, and for nobody else', () => {
    const seen = viewText(all, [masterService])
    const without = { ...all, filters: all.filters.filter((name) => name !== 'masterservice') }
    expect(viewText({ ...all, filters: ['masterservice'] }, [masterService])).toBe(seen)
    expect(viewText(without, [masterService])).not.toBe(seen)
    expect(viewText({ ...all, endpoint: { ...endpoint, port: 1 } }, [masterService])).not.toBe(seen)
    expect(viewText({ ...all, endpoint: { ...endpoint, address: '10.0.0.1' } }, [masterService])).not.toBe(seen)
    expect(viewText({ ...all, endpoint: undefined }, [masterService])).not.toBe(seen)
    expect(viewText({ ...without, endpoint: undefined }, [masterService])).toBe(viewText(without, [masterService]))
  })

  it('of the run before is like any other where it is known', () => {
    expect(textBefore(all, OBJECT_FILTERS)).toBe(viewText(all, OBJECT_FILTERS))
    expect(textBefore(undefined, OBJECT_FILTERS)).toBeUndefined()
    expect(textBefore('unreadable', [])).not.toBe(viewText(all, []))
  })

  it('is read as it was written', () => {
    const place = option(record({ address: string(), port: integer() }), { nil: undefined })
    const views = record({ filters: array(string()), endpoint: place })
    assert(
      property(views, (view) => {
        expect(readView(writeView(view))).toEqual(view)
      }),
    )
    const more = { ...endpoint, host: 'not a part of it' }
    expect(writeView({ filters: [], endpoint: more })).toBe(writeView({ filters: [], endpoint }))
  })

  it.each([
    ['', 'nothing'],
    ['{"version":1,"filters":["mas', 'half of one'],
    ['{"version":2,"filters":[]}', 'another version'],
    ['{"version":1}', 'one without filters'],
    ['{"version":1,"filters":[],"endpoint":{"address":"::1"}}', 'an endpoint without a port'],
  ])('is unreadable in %j (%s)', (text) => {
    expect(readView(text)).toBe('unreadable')
  })
})
