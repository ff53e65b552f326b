import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  EVERY_LABEL,
  formatLabelSelector,
  isEmptyLabelSelector,
  type LabelSelector,
  labelSelector,
  labelSelectorFromObject,
  labelSelectorKey,
  matchesLabels,
  NO_LABEL,
  parseLabelSelector,
  requiredLabelValue,
} from './label.ts'
import { type LabelOperator, type LabelRequirement, labelRequirement, parseInt64 } from './label-requirement.ts'
import { MAX_SELECTOR_LENGTH, MAX_SELECTOR_REQUIREMENTS, MAX_SELECTOR_VALUES } from './limits.ts'

const hostileRuns = process.env['CAUSEWAY_LONG'] === '1' ? 100_000 : 1000

const nameRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const valueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
  "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
const domainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " +
  "end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  String.raw`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

describe('parsing', () => {
  test.each([
    ['', ''],
    ['  ', ''],
    ['a', 'a'],
    ['!a', '!a'],
    ['! a', '!a'],
    ['a=b', 'a=b'],
    ['a==b', 'a==b'],
    ['a != b', 'a!=b'],
    ['a=', 'a='],
    ['a=,b', 'a=,b'],
    ['b,a', 'a,b'],
    ['a in (c,b,c)', 'a in (b,c)'],
    ['a in (b)', 'a in (b)'],
    ['a notin ()', 'a notin ()'],
    ['a in (,)', 'a in ()'],
    ['a in (b,)', 'a in (,b)'],
    ['a in (,b)', 'a in (,b)'],
    ['a in (b,,c)', 'a in (,b,c)'],
    ['a>1,b<-2', undefined],
    ['a>1,b<2', 'a>1,b<2'],
    ['in in (in,notin)', 'in in (in,notin)'],
    ['in=notin', 'in=notin'],
    ['notin', 'notin'],
    ['example.com/a=b', 'example.com/a=b'],
    ['\ta\r\n=\nb', 'a=b'],
    ['a=\0b', 'a=b'],
    ['a=b\0', 'a=b'],
    ['a\0,b', 'a,b'],
    ['a, \0b', undefined],
  ])('%j', (text, formatted) => {
    if (formatted === undefined) expect(() => parseLabelSelector(text)).toThrow()
    else expect(formatLabelSelector(parseLabelSelector(text))).toBe(formatted)
  })

  test.each([
    [',', "found ',', expected: !, identifier, or 'end of string'"],
    ['a,', "found '', expected: identifier after ','"],
    ['a,,b', "found ',', expected: identifier after ','"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['!!a', "unable to parse requirement: found '!', expected: identifier"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a(b)', "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"],
    ['a==(b', "unable to parse requirement: found '(', expected: identifier"],
    ['a===b', "unable to parse requirement: found '=', expected: identifier"],
    ['a in', "unable to parse requirement: found '' expected: '('"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ['a in (b,=', "unable to parse requirement: found '=', expected: ',', or identifier"],
    ['-a', `unable to parse requirement: <nil>: Invalid value: "-a": name part ${nameRule}`],
    ['/a', 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'],
    ['X/a', `unable to parse requirement: <nil>: Invalid value: "X/a": prefix part ${domainRule}`],
    [
      'x/',
      `unable to parse requirement: <nil>: Invalid value: "x/": name part must be non-empty; name part ${nameRule}`,
    ],
    [
      'x/y/z',
      `unable to parse requirement: <nil>: Invalid value: "x/y/z": a valid label key ${nameRule} ` +
        "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ],
    [
      'a'.repeat(64),
      `unable to parse requirement: <nil>: Invalid value: "${'a'.repeat(64)}": name part must be no more than 63 bytes`,
    ],
    [
      `${'a'.repeat(254)}/b`,
      `unable to parse requirement: <nil>: Invalid value: "${'a'.repeat(254)}/b": prefix part must be no more than 253 bytes`,
    ],
    ['a=-b', `unable to parse requirement: values[0][a]: Invalid value: "-b": ${valueRule}`],
    [
      `a=${'b'.repeat(64)}`,
      `unable to parse requirement: values[0][a]: Invalid value: "${'b'.repeat(64)}": must be no more than 63 bytes`,
    ],
    [
      'a in (-,+)',
      `unable to parse requirement: [values[0][a]: Invalid value: "+": ${valueRule}, values[1][a]: Invalid value: "-": ${valueRule}]`,
    ],
    [
      'a>b',
      `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    [
      'a<',
      `unable to parse requirement: values[0]: Invalid value: "": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
  ])('%j is refused', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ code: 400, message }))
  })

  test('limits', () => {
    const tooLong = `a in (${'b,'.repeat(MAX_SELECTOR_LENGTH / 2)}b)`
    expect(() => parseLabelSelector(tooLong)).toThrow(/characters long, at most 65536/)
    const tooMany = Array.from({ length: MAX_SELECTOR_REQUIREMENTS + 1 }, () => 'a').join(',')
    expect(() => parseLabelSelector(tooMany)).toThrow('label selector requirements: more than 1024 are not allowed')
    const values = Array.from({ length: MAX_SELECTOR_VALUES + 1 }, (_, index) => `${index}`)
    expect(() => labelRequirement('a', 'in', values)).toThrow('values of label a: more than 4096 are not allowed')
  })

  test('any text is either refused with a 400 or reads back from its own form', () => {
    const piece = fc.constantFrom(
      'a',
      'b',
      'in',
      'notin',
      ' ',
      '=',
      '!',
      '(',
      ')',
      ',',
      '<',
      '>',
      '1',
      '-',
      '/',
      '\0',
      'ü',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        let selector: LabelSelector
        try {
          selector = parseLabelSelector(pieces.join(''))
        } catch (error) {
          expect(error).toMatchObject({ code: 400, reason: 'BadRequest' })
          return
        }
        expect(parseLabelSelector(formatLabelSelector(selector))).toEqual(selector)
      }),
      { numRuns: hostileRuns },
    )
  })
})

describe('selectors', () => {
  test('parse(format(x)) is x', () => {
    fc.assert(
      fc.property(selectors(), (selector) => {
        expect(parseLabelSelector(formatLabelSelector(selector))).toEqual(selector)
      }),
    )
  })

  test('matching agrees with a plain reading of the requirements', () => {
    fc.assert(
      fc.property(selectors(), labelSets(), (selector, labels) => {
        expect(matchesLabels(selector, labels)).toBe(naiveMatch(selector, labels))
      }),
    )
  })

  test('the key is a selector that matches the same, whatever the spelling', () => {
    fc.assert(
      fc.property(selectors(), labelSets(), (selector, labels) => {
        const key = labelSelectorKey(selector)
        expect(matchesLabels(parseLabelSelector(key), labels)).toBe(matchesLabels(selector, labels))
        expect(labelSelectorKey(respelled(selector))).toBe(key)
      }),
    )
    const spellings = ['a=b,c!=d', 'c notin (d),a==b', 'a in (b),c!=d,a=b'].map(parseLabelSelector)
    expect(new Set(spellings.map(labelSelectorKey))).toEqual(new Set(['a=b,c!=d']))
  })

  test('numbers are compared as 64-bit integers', () => {
    const above = parseLabelSelector('a>9007199254740992')
    expect(matchesLabels(above, { a: '9007199254740993' })).toBe(true)
    expect(matchesLabels(above, { a: '9007199254740992' })).toBe(false)
    expect(matchesLabels(above, { a: 'x' })).toBe(false)
    expect(matchesLabels(above, {})).toBe(false)
    expect([parseInt64('9223372036854775807'), parseInt64('9223372036854775808')]).toEqual([2n ** 63n - 1n, undefined])
    expect([parseInt64('-0'), parseInt64('+7'), parseInt64(''), parseInt64('1_0')]).toEqual([
      0n,
      7n,
      undefined,
      undefined,
    ])
  })

  test('labels are own properties only', () => {
    expect(matchesLabels(parseLabelSelector('constructor'), {})).toBe(false)
    expect(matchesLabels(parseLabelSelector('!toString'), {})).toBe(true)
  })

  test('everything and nothing', () => {
    expect(matchesLabels(EVERY_LABEL, undefined)).toBe(true)
    expect(matchesLabels(NO_LABEL, {})).toBe(false)
    expect([isEmptyLabelSelector(EVERY_LABEL), isEmptyLabelSelector(NO_LABEL)]).toEqual([true, false])
    expect([formatLabelSelector(EVERY_LABEL), formatLabelSelector(NO_LABEL)]).toEqual(['', ''])
    expect(labelSelectorKey(EVERY_LABEL)).not.toBe(labelSelectorKey(NO_LABEL))
  })

  test.each([
    ['a=b', 'b'],
    ['a==b', 'b'],
    ['a in (b)', 'b'],
    ['a in (b,c)', undefined],
    ['a!=b', undefined],
    ['a', undefined],
    ['b=c', undefined],
  ])('%s requires of a: %s', (text, value) => {
    expect(requiredLabelValue(parseLabelSelector(text), 'a')).toBe(value)
  })
})

describe('LabelSelector objects', () => {
  test('a missing one selects nothing, an empty one everything', () => {
    expect(labelSelectorFromObject(undefined)).toEqual(NO_LABEL)
    expect(labelSelectorFromObject({})).toEqual(EVERY_LABEL)
  })

  test('labels and expressions become requirements', () => {
    const selector = labelSelectorFromObject({
      matchLabels: { b: 'c' },
      matchExpressions: [
        { key: 'a', operator: 'In', values: ['y', 'x'] },
        { key: 'd', operator: 'NotIn', values: ['z'] },
        { key: 'e', operator: 'Exists' },
        { key: 'f', operator: 'DoesNotExist' },
      ],
    })
    expect(formatLabelSelector(selector)).toBe('a in (x,y),b=c,d notin (z),e,!f')
  })

  test.each([
    [
      { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] },
      '"Gt" is not a valid label selector operator',
    ],
    [
      { matchExpressions: [{ key: 'a', operator: 'In' }] },
      "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    ],
    [
      { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
      'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
    ],
    [{ matchLabels: { '-a': 'b' } }, `key: Invalid value: "-a": name part ${nameRule}`],
  ])('%j is refused', (object, message) => {
    expect(() => labelSelectorFromObject(object)).toThrow(expect.objectContaining({ code: 400, message }))
  })

  test('requirements made by hand are checked, too', () => {
    const unknown = 'like' as LabelOperator
    expect(() => labelRequirement('a', unknown, [])).toThrow(
      'operator: Unsupported value: "like": supported values: "in", "notin", "=", "==", "!=", "gt", "lt", "exists", "!"',
    )
    expect(() => labelRequirement('a', '=', [])).toThrow(
      'values: Invalid value: []: exact-match compatibility requires one single value',
    )
    expect(() => labelRequirement('a', 'gt', ['1', '2'])).toThrow(
      `values: Invalid value: ["1","2"]: for 'Gt', 'Lt' operators, exactly one value is required`,
    )
  })
})

const keys = ['a', 'b', 'example.com/c']
const values = ['', 'x', 'y', '1', '2', '30']

function requirements(): fc.Arbitrary<LabelRequirement> {
  const key = fc.constantFrom(...keys)
  const one = fc.constantFrom(...values).map((value) => [value])
  const several = fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 }).map((list) => list.toSorted())
  const number = fc.constantFrom('1', '2', '30').map((value) => [value])
  return fc
    .oneof(
      fc.tuple(key, fc.constantFrom<LabelOperator>('=', '==', '!='), one),
      fc.tuple(key, fc.constantFrom<LabelOperator>('in', 'notin'), several),
      fc.tuple(key, fc.constantFrom<LabelOperator>('exists', '!'), fc.constant<string[]>([])),
      fc.tuple(key, fc.constantFrom<LabelOperator>('gt', 'lt'), number),
    )
    .map(([name, operator, list]) => labelRequirement(name, operator, list))
}

function selectors(): fc.Arbitrary<LabelSelector> {
  return fc.array(requirements(), { maxLength: 4 }).map(labelSelector)
}

function labelSets(): fc.Arbitrary<Record<string, string>> {
  return fc.dictionary(fc.constantFrom(...keys), fc.constantFrom(...values), { noNullPrototype: true })
}

/** The same in other words: sets for single values, the other equals sign, backwards, everything twice. */
function respelled(selector: LabelSelector): LabelSelector {
  if (selector.matches === 'nothing') return selector
  const others: Partial<Record<LabelOperator, LabelOperator>> = { '=': '==', '==': 'in', '!=': 'notin' }
  const reworded = selector.requirements.map(({ key, operator, values }) => ({
    key,
    operator: others[operator] ?? operator,
    values: values.toReversed(),
  }))
  return labelSelector([...reworded.toReversed(), ...selector.requirements])
}

function naiveMatch(selector: LabelSelector, labels: Record<string, string>): boolean {
  if (selector.matches === 'nothing') return false
  for (const { key, operator, values: wanted } of selector.requirements) {
    const value = new Map(Object.entries(labels)).get(key)
    const isIn = value !== undefined && wanted.includes(value)
    const verdicts: Record<LabelOperator, boolean> = {
      '=': isIn,
      '==': isIn,
      in: isIn,
      '!=': !isIn,
      notin: !isIn,
      exists: value !== undefined,
      '!': value === undefined,
      gt: value !== undefined && value !== '' && Number(value) > Number(wanted[0]),
      lt: value !== undefined && value !== '' && Number(value) < Number(wanted[0]),
    }
    if (!verdicts[operator]) return false
  }
  return true
}
