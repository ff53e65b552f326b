import { describe, expect, it } from 'vitest'
import { decodeObject, type ExpectedKind } from './decode-body.ts'
import { MAX_YAML_BODY_BYTES, parseYamlBody } from './decode-yaml.ts'

const filled = (piece: string, length: number): string =>
  piece.repeat(Math.ceil(length / piece.length)).slice(0, length)

function keys(count: number, key: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => key(index)).join('')
}

async function readYaml(text: string): Promise<unknown> {
  const expected = { apiVersion: 'v1', kind: 'ConfigMap' } as ExpectedKind
  const body = { bytes: Buffer.from(text), encoding: 'yaml', validation: 'Warn' } as const
  return await Promise.resolve().then(() => decodeObject(body, expected))
}

describe('YAML that takes long to read', () => {
  /** Seconds for each 100 KB, or more the longer they are. */
  const slow = {
    'commas in a list': `a: [${filled(',', MAX_YAML_BODY_BYTES)}]`,
    brackets: filled('][', MAX_YAML_BODY_BYTES + 1),
    'keys without values': `{${keys(40_000, (index) => `k${index},`)}}`,
    'values of values': filled('a: b: c\n', MAX_YAML_BODY_BYTES + 1),
    tags: filled('!\n', MAX_YAML_BODY_BYTES + 1),
    anchors: keys(20_000, (index) => `k${index}: &a${index} x\n`),
  }

  it.each(Object.entries(slow))('is refused by its length: %s', async (_shape, text) => {
    const reading = readYaml(text)
    await expect(reading).rejects.toMatchObject({ status: { code: 413, reason: 'RequestEntityTooLarge' } })
    await expect(reading).rejects.toThrow(`limit is ${MAX_YAML_BODY_BYTES} for YAML; send larger objects as JSON`)
  })

  it('is read where it is short enough, and the first fault told with its place', async () => {
    await expect(readYaml(`a: 1\nb: [${filled(',', 1_000)}]`)).rejects.toMatchObject({
      status: { code: 400, message: expect.stringContaining('Unexpected , in flow sequence at line 2, column 6') },
    })
  })
})

describe('parseYamlBody', () => {
  it('reads what YAML can say', () => {
    expect(parseYamlBody('a: 1\nb: [x, "y"]\nc: |\n  text\nd: &e {f: true}\ng: *e\n')).toEqual({
      a: 1,
      b: ['x', 'y'],
      c: 'text\n',
      d: { f: true },
      g: { f: true },
    })
    expect(parseYamlBody('')).toBeNull()
  })

  it('reads JSON of any length that a body may have', () => {
    const text = JSON.stringify({ data: { x: 'x'.repeat(2 * MAX_YAML_BODY_BYTES) } })
    expect(parseYamlBody(` \n${text}`)).toEqual(JSON.parse(text))
  })

  it('counts bytes, not characters', () => {
    const text = `a: ${'\u20ac'.repeat(MAX_YAML_BODY_BYTES / 3)}`
    expect(text.length).toBeLessThan(MAX_YAML_BODY_BYTES)
    expect(() => parseYamlBody(text)).toThrow('limit is')
    expect(parseYamlBody(text.slice(0, MAX_YAML_BODY_BYTES / 3 - 10))).toMatchObject({ a: expect.any(String) })
  })

  it.each(['a: 1\na: 2', 'a: {b: 1, c: 2, "b": 3}', '{a: 1, a: 2}', '{"a": 1, "a": 2}', '- ? x\n  : 1\n  x: 2'])(
    'refuses a key that stands twice: %j',
    (text) => expect(() => parseYamlBody(text)).toThrow('Map keys must be unique'),
  )

  it.each([
    ['a: "x', 'Missing closing "quote at line 1, column 6'],
    ['a: 1\n---\nb: 2', 'multiple documents'],
    ['a: *b', 'Unresolved alias'],
    [`a: &a [x]\nb: [${filled('*a,', 600)}]`, 'Excessive alias count'],
    [`a: ${'['.repeat(200)}`, 'nested too deeply'],
    [`{"a": ${'['.repeat(200)}`, 'nested too deeply'],
  ])('refuses %j', (text, problem) => {
    expect(() => parseYamlBody(text)).toThrow(problem)
  })
})
