/**
 * Splits TypeScript source into code, strings and comments, well enough to search each without being fooled by the others.
 * Line breaks stay where they are, so line numbers hold.
 */

export interface SourceText {
  /** Comments blanked; strings kept. */
  readonly withoutComments: string
  /** Comments and the insides of strings, templates and regular expressions blanked. */
  readonly codeOnly: string
}

export function splitSource(text: string): SourceText {
  let withoutComments = ''
  let codeOnly = ''
  for (const { kind, piece } of new Scanner(text).pieces()) {
    const blank = piece.replaceAll(/[^\n]/g, ' ')
    withoutComments += kind === 'comment' ? blank : piece
    codeOnly += kind === 'code' ? piece : blank
  }
  return { withoutComments, codeOnly }
}

interface Piece {
  readonly kind: 'code' | 'string' | 'comment'
  readonly piece: string
}

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y
const STRING = /'(?:[^'\\\n]|\\[\s\S])*'?|"(?:[^"\\\n]|\\[\s\S])*"?/y
/** From a backtick, or from the brace that ends a substitution, to the next substitution or the closing backtick. */
const TEMPLATE_STRETCH = /[`}](?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:\$\{|`|$)/y
const REGULAR_EXPRESSION = /\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y

/** After one of these a slash begins a regular expression; after anything else it divides. */
const BEFORE_OPERAND = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|await|yield))\s*$/
const LOOK_BACK_CHARS = 40

class Scanner {
  readonly #text: string
  #at = 0
  /** The last bit of code, strings replaced by a letter: tells a regular expression from a division. */
  #before = ''
  /** For each open template, how many braces are open inside its current substitution. */
  readonly #openBraces: number[] = []

  constructor(text: string) {
    this.#text = text
  }

  *pieces(): Generator<Piece> {
    while (this.#at < this.#text.length) {
      const found = this.#next()
      this.#at += found.piece.length
      if (found.kind === 'code') this.#before = (this.#before + found.piece).slice(-LOOK_BACK_CHARS)
      else if (found.kind === 'string') this.#before = 'x'
      yield found
    }
  }

  #next(): Piece {
    const char = this.#text[this.#at] ?? ''
    if (char === '`') return this.#template(true)
    if (char === '}' && this.#openBraces.at(-1) === 0) return this.#template(false)
    const comment = this.#match(COMMENT)
    if (comment !== undefined) return { kind: 'comment', piece: comment }
    const operand = char === '/' && BEFORE_OPERAND.test(this.#before)
    const string = operand ? this.#match(REGULAR_EXPRESSION) : this.#match(STRING)
    if (string !== undefined) return { kind: 'string', piece: string }
    this.#countBrace(char)
    return { kind: 'code', piece: char }
  }

  #template(opens: boolean): Piece {
    const piece = this.#match(TEMPLATE_STRETCH) ?? ''
    if (opens) this.#openBraces.push(0)
    if (!piece.endsWith('${')) this.#openBraces.pop()
    return { kind: 'string', piece }
  }

  #countBrace(char: string): void {
    const depth = this.#openBraces.at(-1)
    if (depth === undefined || (char !== '{' && char !== '}')) return
    this.#openBraces[this.#openBraces.length - 1] = depth + (char === '{' ? 1 : -1)
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#text)?.[0]
  }
}
