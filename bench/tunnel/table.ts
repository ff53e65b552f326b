/** Samples of every measurement by contestant, and the table of their medians. */

const nameWidth = 40
const columnWidth = 13

/** Of a rate more is better, of a time or a size less. The table only says which; it judges nothing. */
export type Better = 'more' | 'less'

export class Table {
  readonly #rows = new Map<string, { readonly better: Better; readonly samples: Map<string, number[]> }>()
  readonly #notes: string[] = []

  add(row: string, better: Better, contestant: string, value: number): void {
    const entry = this.#rows.get(row) ?? { better, samples: new Map() }
    this.#rows.set(row, entry)
    const samples = entry.samples.get(contestant) ?? []
    entry.samples.set(contestant, samples)
    samples.push(value)
  }

  note(text: string): void {
    this.#notes.push(text)
    console.log(`  ${text}`)
  }

  /** `ratios` are pairs of contestants, the first over the second. */
  print(contestants: readonly string[], ratios: readonly (readonly [string, string])[]): void {
    const names = ratios.map(([a, b]) => `${a.slice(0, 5)}/${b.slice(0, 5)}`)
    const cells = (texts: readonly string[]): string => texts.map((text) => text.padStart(columnWidth)).join('')
    console.log(`\n${''.padEnd(nameWidth)}${cells([...contestants, ...names])}  better`)
    for (const [row, { better, samples }] of this.#rows) {
      const medians = new Map(contestants.map((name) => [name, median(samples.get(name) ?? [])]))
      const values = contestants.map((name) => written(medians.get(name)))
      const compared = ratios.map(([a, b]) => written((medians.get(a) ?? Number.NaN) / (medians.get(b) ?? Number.NaN)))
      console.log(`${row.padEnd(nameWidth)}${cells([...values, ...compared])}  ${better}`)
    }
    console.log('')
    for (const note of this.#notes) console.log(note)
  }
}

/** A measurement where nothing came through at all counts, as one without a number. */
function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function written(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '-'
  return value.toFixed(Math.abs(value) >= 100 ? 0 : 2)
}
