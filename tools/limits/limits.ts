/**
 * Finds the named limits in the sources: constants of a module in UPPER_CASE whose value is a number, exported or not. Their
 * comment says why they are what they are, and becomes the third column of docs/limits.md.
 */
export interface Limit {
  readonly name: string
  readonly value: number
  readonly reason: string
  readonly file: string
}

/** Numbers that are facts of a wire format or of ours, and limit nothing. */
const notLimits = /^(OP|WIRE|ABSENT)_|^FIRST_REVISION$/

/** A private constant without a comment is a fact that its file spells out, such as a tag, unless it has a name like these. */
const limitsByName = /^(MAX|MIN)_|_(MS|SECONDS)$/

/** The API's own rules for values, which validation repeats. */
const factsOfTheApi = /^src\/apiserver\/kinds\//

const declaration =
  /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^(export )?const ([A-Z][A-Z0-9_]*)(?:: number)? = ([0-9_* ]+)$/gm

export function findLimits(file: string, source: string): Limit[] {
  if (factsOfTheApi.test(file)) return []
  const limits: Limit[] = []
  let last = { reason: '', end: -1 }
  for (const match of source.matchAll(declaration)) {
    const [text, comment = '', exported, name = '', expression = ''] = match
    // A constant right below another one shares its comment.
    const shared = match.index === last.end + 1 ? last.reason : ''
    const reason = comment === '' ? shared : comment.replace(/\s*\n?\s*\* ?/g, ' ').trim()
    last = { reason, end: match.index + text.length }
    const isFact = exported === undefined && reason === '' && !limitsByName.test(name)
    if (!isFact && !notLimits.test(name)) limits.push({ name, value: evaluate(expression), reason, file })
  }
  return limits
}

function evaluate(expression: string): number {
  const factors = expression.replaceAll('_', '').split('*').map(Number)
  return factors.reduce((product, factor) => product * factor, 1)
}

/** How long others waited for one request, as test/stall has measured it. */
export interface MeasuredTurn {
  readonly requestBytes: number
  readonly status: number
  readonly longestTurnMs: number
}

export function renderLimits(limits: readonly Limit[], turns: Readonly<Record<string, MeasuredTurn>>): string {
  const lines = [
    '# Limits',
    '',
    'Every queue, body, buffer, wait and count that could grow has a named limit. This page is written from the sources by',
    '`npm run generate:limits`; a test fails when it is out of date.',
  ]
  const folders = new Set(limits.map(({ file }) => folderOf(file)))
  for (const folder of [...folders].sort()) {
    lines.push('', `## ${folder}`, '', '| limit | value | why |', '|---|---|---|')
    const rows = limits.filter(({ file }) => folderOf(file) === folder)
    for (const limit of rows) lines.push(`| \`${limit.name}\` | ${formatValue(limit)} | ${limit.reason} |`)
  }
  lines.push(...renderTurns(turns))
  return `${lines.join('\n')}\n`
}

function renderTurns(turns: Readonly<Record<string, MeasuredTurn>>): string[] {
  return [
    '',
    '## How long a request keeps others waiting',
    '',
    'One thread serves everybody. The longest turn of the event loop of an API server, in processor time, while it serves one',
    'request: `test/stall` fails above 100 ms. The numbers are those of the last recorded run, on two cores that were shared with',
    'other work.',
    '',
    '| request | bytes | status | longest turn |',
    '|---|---|---|---|',
    ...Object.entries(turns).map(
      ([name, { requestBytes, status, longestTurnMs }]) =>
        `| ${name} | ${requestBytes} | ${status} | ${longestTurnMs} ms |`,
    ),
  ]
}

function folderOf(file: string): string {
  return file.slice(0, file.lastIndexOf('/'))
}

function formatValue({ name, value }: Limit): string {
  if (name.endsWith('_MS')) return value % 1000 === 0 ? `${value / 1000} s` : `${value} ms`
  if (name.endsWith('_SECONDS')) return `${value} s`
  if (!name.endsWith('_BYTES')) return String(value)
  if (value % (1024 * 1024) === 0) return `${value / 1024 / 1024} MiB`
  return value % 1024 === 0 ? `${value / 1024} KiB` : `${value} bytes`
}
