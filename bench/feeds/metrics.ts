/** Counters and gauges as the API server and our edge show them: text, a line for each set of labels. */

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
