/** docs/errors.md has the errors that users can meet, and no others. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { EXIT_CODES } from '../../src/cli/failure.ts'
import { HUB_REFUSALS } from '../../src/protocol/refusals.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(`${root}docs/errors.md`, 'utf8')
const sources = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => [file, readFileSync(`${root}src/${file}`, 'utf8')] as const)
const everything = sources.map(([, text]) => text).join('\n')

/** What others say: the library that reads the command line, and the client's own TLS. */
const wordsOfOthers = ['unknown option ', 'certificate signed by unknown authority']

function section(title: string): string {
  const [, found = ''] = page.split(`\n## ${title}\n`)
  return found.split('\n## ')[0] ?? ''
}

/** The rows of the tables in a section, each as its cells; without head and rule. */
function rows(title: string): string[][] {
  const lines = section(title).split('\n')
  return lines.filter((line) => line.startsWith('| ') && !/^\| (?:code|message|what a)/.test(line)).map(cells)
}

function cells(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}

/** The members of a union of texts, wherever it is declared. */
function membersOf(type: string): string[] {
  const [, rest = ''] = everything.split(`export type ${type} =`)
  const [union = ''] = rest.split(/\n\n/)
  return [...union.matchAll(/'([a-z-]+)'/g)].map(([, member = '']) => member)
}

describe('docs/errors.md', () => {
  it('has the exit codes', () => {
    expect(rows('Exit codes').map(([code, name]) => [name, Number(code)])).toEqual(Object.entries(EXIT_CODES))
  })

  it('has every refusal of the hub with its status, and no other', () => {
    const listed = rows('Answers of the hub').map(([code = '', status]) => [code.replaceAll('`', ''), Number(status)])
    expect(new Map(listed as [string, number][])).toEqual(new Map(Object.entries(HUB_REFUSALS)))
    expect(listed).toHaveLength(Object.keys(HUB_REFUSALS).length)
  })

  it('has no message that nobody says', () => {
    const titles = [
      'The command line and the configuration',
      'Starting the API server',
      'While it runs',
      'Starting the hub',
      'While the hub runs',
      'While the edge runs',
    ]
    const messages = titles.flatMap((title) => rows(title).map(([message = '']) => message.replaceAll('`', '')))
    for (const title of titles) expect(rows(title), title).not.toEqual([])
    expect(messages.length).toBeGreaterThan(50)
    const pieces = messages.flatMap((message) => message.split('...').map((piece) => piece.replace(/^[ :]+/, '')))
    const unknown = pieces.filter(
      (piece) => piece !== '' && !wordsOfOthers.includes(piece) && !everything.includes(piece),
    )
    expect(unknown).toEqual([])
  })

  it('has every code of a failed join that is not the hub’s, and no other', () => {
    const edge = sources.filter(([file]) => file.startsWith('edge/join/')).map(([, text]) => text)
    const own = edge
      .flatMap((text) => [...text.matchAll(/(?:new JoinError\(\w+,|code:) '([a-z-]+)'/g)])
      .map(([, code]) => code)
    const unions = ['HubNetworkCode', 'HubTlsCode'].flatMap((name) => membersOf(name))
    const tokens = membersOf('JoinTokenProblem').map((problem) => `token-${problem}`)
    const listed = rows('Joining').map(([code = '']) => code.replaceAll('`', ''))
    expect(own.length).toBeGreaterThan(5)
    expect(new Set(listed)).toEqual(new Set([...own, ...unions, ...tokens]))
    expect(listed).toHaveLength(new Set(listed).size)
  })

  it('has every reason of a Status that the API server gives', () => {
    const [, union = ''] = /export type KnownStatusReason =([^\n]*\n(?: {2}\|.*\n)+)/.exec(everything) ?? []
    const known = [...union.matchAll(/'(\w+)'/g)].map(([, reason = '']) => reason)
    // An old one that only clients know.
    const given = known.filter((reason) => reason !== 'StorageReadError')
    const reasons = rows('Answers of the API').map(([, reason = '']) => reason.replaceAll('`', ''))
    const listed = reasons.filter((reason) => reason !== 'none')
    expect(given.length).toBeGreaterThan(15)
    expect(given.filter((reason) => !listed.includes(reason))).toEqual([])
    expect(listed.filter((reason) => !everything.includes(`'${reason}'`))).toEqual([])
  })

  it('has every refusal of what is not built yet, and none of what is', () => {
    const said = sources
      .filter(([file]) => file.startsWith('apiserver/'))
      .flatMap(([, text]) => [...text.matchAll(/['"`](this server does not [^'"`]+)['"`]/g)])
      .map(([, sentence = '']) => sentence)
    const listed = [...section('What is refused because it is not built yet').matchAll(/^- `(.*)`$/gm)]
    expect(new Set(said)).toEqual(new Set(listed.map(([, sentence]) => sentence)))
  })
})
