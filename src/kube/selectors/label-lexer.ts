/** Splits a label selector into words. `in` and `notin` are operators only where an operator can stand. */
export type LabelTokenKind =
  | 'end'
  | 'identifier'
  | 'in'
  | 'notin'
  | '='
  | '=='
  | '!='
  | '!'
  | '('
  | ')'
  | ','
  | '>'
  | '<'

export interface LabelToken {
  readonly kind: LabelTokenKind
  /** Empty at the end of the selector. */
  readonly text: string
}

// One NUL behind a word or symbol is swallowed, any other ends the selector: that is how the API server reads it.
const tokenRegExp = /[ \t\r\n]*(?:(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n\0]+))\0?|\0)/y

export function lexLabelSelector(selector: string): LabelToken[] {
  const tokens: LabelToken[] = []
  tokenRegExp.lastIndex = 0
  for (let match = tokenRegExp.exec(selector); match !== null; match = tokenRegExp.exec(selector)) {
    const [, symbol, word] = match
    if (symbol !== undefined) tokens.push({ kind: symbol as LabelTokenKind, text: symbol })
    else if (word !== undefined) tokens.push({ kind: wordKind(word), text: word })
    else break
  }
  tokens.push({ kind: 'end', text: '' })
  return tokens
}

function wordKind(word: string): LabelTokenKind {
  return word === 'in' || word === 'notin' ? word : 'identifier'
}
