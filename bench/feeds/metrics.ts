/** Counters and gauges as the API server and our edge show them: text, a line for each set of labels. */
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 50
const patienceMs = 60_000

type Labels = Readonly<Record<string, string>>

/** Of all lines of that name which have these labels, whatever others they have. */
export function sumOf(text: string, name: string, labels: Labels = {}): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

export async function metricsAt(url: string): Promise<string> {
  return await (await fetch(url)).text()
}

/** Waits until a metric of an edge is at least that much. */
export async function atLeast(url: string, least: number, name: string, labels: Labels = {}): Promise<void> {
  const untilMs = performance.now() + patienceMs
  let value = sumOf(await metricsAt(url), name, labels)
  while (value < least) {
    if (performance.now() > untilMs) throw new Error(`${name} is ${value}, and does not become ${least}`)
    await sleep(pollMs)
    value = sumOf(await metricsAt(url), name, labels)
  }
}
