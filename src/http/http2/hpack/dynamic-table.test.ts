import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DynamicTable } from './dynamic-table.ts'

function entriesOf(table: DynamicTable): string[] {
  return Array.from({ length: table.count }, (_, age) => `${table.nameAt(age)}=${table.valueAt(age)}`)
}

describe('the dynamic table', () => {
  it('counts 32 bytes beyond name and value, and drops the oldest first', () => {
    const table = new DynamicTable(68)
    table.add('a', 'b')
    table.add('c', 'd')
    expect(entriesOf(table)).toEqual(['c=d', 'a=b'])
    table.add('e', '')
    expect(entriesOf(table)).toEqual(['e=', 'c=d'])
  })

  it('is emptied by an entry larger than itself, which is not kept', () => {
    const table = new DynamicTable(68)
    table.add('a', 'b')
    table.add('c', 'd'.repeat(36))
    expect(entriesOf(table)).toEqual([])
  })

  it('tells what it drops, with the serial number it was given', () => {
    const dropped: string[] = []
    const table = new DynamicTable(68, (name, value, serial) => dropped.push(`${serial} ${name}=${value}`))
    for (const name of ['a', 'b', 'c']) table.add(name, '')
    table.resize(0)
    expect(dropped).toEqual(['0 a=', '1 b=', '2 c='])
    expect(table.nextSerial).toBe(3)
  })

  it('does what a plain list would, whatever is added and however its size changes', () => {
    const step = fc.oneof(
      { arbitrary: fc.string({ maxLength: 30 }), weight: 20 },
      { arbitrary: fc.nat(3000), weight: 1 },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
        const table = new DynamicTable(4096)
        let model: string[] = []
        let maxBytes = 4096
        for (const [at, next] of steps.entries()) {
          if (typeof next === 'number') {
            maxBytes = next
            table.resize(next)
          } else {
            table.add(`n${at}`, next)
            model.unshift(`n${at}=${next}`)
          }
          // In the model the `=` stands for one of the 32.
          while (model.reduce((sum, entry) => sum + entry.length + 31, 0) > maxBytes) model = model.slice(0, -1)
          expect(entriesOf(table)).toEqual(model)
        }
      }),
      { numRuns: 30 },
    )
  })
})
