/** Reads the text form of a label selector, and says what is wrong with it in the API server's words. */
import { formatFieldError, invalidField } from '../status/field-error.ts'
import { badRequest } from '../status/request-errors.ts'
import { ApiError } from '../status/status.ts'
import { type LabelToken, type LabelTokenKind, lexLabelSelector } from './label-lexer.ts'
import {
  BINARY_LABEL_OPERATORS,
  type LabelOperator,
  type LabelRequirement,
  labelRequirement,
} from './label-requirement.ts'
import { checkSelectorCount, checkSelectorLength, MAX_SELECTOR_REQUIREMENTS } from './limits.ts'
import { labelKeyBreaches } from './names.ts'

const operators: Readonly<Partial<Record<LabelTokenKind, LabelOperator>>> = {
  in: 'in',
  notin: 'notin',
  '=': '=',
  '==': '==',
  '!=': '!=',
  '>': 'gt',
  '<': 'lt',
}

/** In the order of the text. Throws a 400 with the API server's message. */
export function parseRequirements(selector: string): LabelRequirement[] {
  checkSelectorLength('label selector', selector)
  return new LabelParser(lexLabelSelector(selector)).parse()
}

class LabelParser {
  readonly #tokens: readonly LabelToken[]
  #position = 0

  constructor(tokens: readonly LabelToken[]) {
    this.#tokens = tokens
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = []
    while (this.#peek().kind !== 'end') {
      if (!startsRequirement(this.#peek()))
        throw unexpected(this.#peek(), ", expected: !, identifier, or 'end of string'")
      requirements.push(this.#prefixedRequirement())
      checkSelectorCount('label selector requirements', requirements.length, MAX_SELECTOR_REQUIREMENTS)
      this.#separator()
    }
    return requirements
  }

  #separator(): void {
    const token = this.#next()
    if (token.kind === 'end') {
      this.#position-- // the loop above must see the end, too
      return
    }
    if (token.kind !== ',') throw unexpected(token, ", expected: ',' or 'end of string'")
    if (!startsRequirement(this.#peek())) throw unexpected(this.#peek(), ", expected: identifier after ','")
  }

  #prefixedRequirement(): LabelRequirement {
    try {
      return this.#requirement()
    } catch (error) {
      if (error instanceof ApiError) throw badRequest(`unable to parse requirement: ${error.message}`)
      throw error
    }
  }

  #requirement(): LabelRequirement {
    const negated = this.#peek().kind === '!'
    if (negated) this.#position++
    const key = this.#key()
    if (negated) return labelRequirement(key, '!', [])
    const ahead = this.#peek().kind
    if (ahead === 'end' || ahead === ',') return labelRequirement(key, 'exists', [])
    const operator = this.#operator()
    const values = operator === 'in' || operator === 'notin' ? this.#valueSet() : [this.#exactValue()]
    return labelRequirement(key, operator, values)
  }

  #key(): string {
    const token = this.#next()
    if (!isWord(token)) throw unexpected(token, ', expected: identifier')
    const breaches = labelKeyBreaches(token.text)
    // `<nil>` is how the API server prints the missing path of a selector that came in a query.
    if (breaches.length > 0) throw badRequest(formatFieldError(invalidField('<nil>', token.text, breaches.join('; '))))
    return token.text
  }

  #operator(): LabelOperator {
    const token = this.#next()
    const operator = operators[token.kind]
    if (operator === undefined) throw unexpected(token, `, expected: ${BINARY_LABEL_OPERATORS.join(', ')}`)
    return operator
  }

  #exactValue(): string {
    const ahead = this.#peek().kind
    if (ahead === 'end' || ahead === ',') return ''
    const token = this.#next()
    if (!isWord(token)) throw unexpected(token, ', expected: identifier')
    return token.text
  }

  /** `(a,b)`, sorted and without repetition; an empty place between commas or parentheses is the empty value. */
  #valueSet(): string[] {
    const open = this.#next()
    if (open.kind !== '(') throw unexpected(open, " expected: '('")
    const first = this.#peek()
    if (!isWord(first) && first.kind !== ',' && first.kind !== ')') {
      throw unexpected(first, ", expected: ',', ')' or identifier")
    }
    const values = new Set<string>()
    for (let token = this.#next(); ; token = this.#next()) {
      values.add(isWord(token) ? token.text : '')
      const separator = isWord(token) ? this.#next() : token
      if (separator.kind === ')') return [...values].toSorted()
      if (separator.kind !== ',') throw unexpected(separator, ", expected: ',' or ')'")
      const ahead = this.#peek()
      if (!isWord(ahead) && ahead.kind !== ',' && ahead.kind !== ')') {
        throw unexpected(ahead, ", expected: ',', or identifier")
      }
    }
  }

  #peek(): LabelToken {
    return this.#tokens[this.#position] ?? { kind: 'end', text: '' }
  }

  #next(): LabelToken {
    const token = this.#peek()
    this.#position++
    return token
  }
}

function isWord({ kind }: LabelToken): boolean {
  return kind === 'identifier' || kind === 'in' || kind === 'notin'
}

function startsRequirement(token: LabelToken): boolean {
  return isWord(token) || token.kind === '!'
}

function unexpected(token: LabelToken, rest: string): ApiError {
  return badRequest(`found '${token.text}'${rest}`)
}
