import { array, assert, integer, option, property, record, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OBJECT_FILTERS } from './filter-list.ts'
import { type FilterView, lastingText, readView, textBefore, viewText, writeView } from './filter-view.ts'
import { localEndpoints } from './local-endpoints.ts'
import { masterService } from './master-service.ts'

const endpoint = { address: '169.254.30.10', port: 10_550 }
const all: FilterView = { filters: OBJECT_FILTERS.map(({ name }) => name), endpoint, localPods: '' }

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

  it('is another with the pods of this node for those who see them, but not for what is running', () => {
    const local = { ...all, localPods: 'a.1' }
    const readers = [localEndpoints]
    expect(viewText(local, readers)).not.toBe(viewText(all, readers))
    expect(viewText({ ...local, localPods: 'a.2' }, readers)).not.toBe(viewText(local, readers))
    expect(lastingText(local, readers)).toBe(lastingText(all, readers))
    expect(viewText(local, [masterService])).toBe(viewText(all, [masterService]))
    const without = { ...local, filters: ['masterservice'] }
    expect(viewText(without, readers)).toBe(viewText({ ...without, localPods: '' }, readers))
    // Where the endpoint is makes no difference to them.
    expect(viewText({ ...local, endpoint: undefined }, readers)).toBe(viewText(local, readers))
  })

  it('that was written before there were pods of this node in views is read', () => {
    expect(readView('{"version":1,"filters":["a"]}')).toEqual({ filters: ['a'], endpoint: undefined, localPods: '' })
  })

  it('of the run before is like any other where it is known', () => {
    expect(textBefore(all, OBJECT_FILTERS)).toBe(viewText(all, OBJECT_FILTERS))
    expect(textBefore(undefined, OBJECT_FILTERS)).toBeUndefined()
    expect(textBefore('unreadable', [])).not.toBe(viewText(all, []))
  })

  it('is read as it was written', () => {
    const place = option(record({ address: string(), port: integer() }), { nil: undefined })
    const views = record({ filters: array(string()), endpoint: place, localPods: string() })
    assert(
      property(views, (view) => {
        expect(readView(writeView(view))).toEqual(view)
      }),
    )
    const more = { ...endpoint, host: 'not a part of it' }
    expect(writeView({ ...all, endpoint: more })).toBe(writeView(all))
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
