/**
 * How deeply YAML nests, found out without recursion and before anything is built. The library composes documents by calling
 * itself: a few thousand brackets exhaust the stack where the runtime compiles a regular expression, and then the whole
 * process is aborted; no handler can catch that.
 */
import { Lexer, Parser } from 'yaml'

/** Twice what the deepest schemas of custom resources have; a tenth of what the stack of a small machine bears. */
export const MAX_YAML_NESTING = 100

/** The offset of the first place that is too deep; nothing behind it is looked at. To be asked before text is parsed. */
export function excessiveNestingAt(text: string): number | undefined {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    const tokens = parser.next(lexeme)
    // What it hands out is of no interest, but it works only while it is asked.
    while (tokens.next().done !== true);
    if (parser.stack.length > MAX_YAML_NESTING) return parser.offset
  }
  return undefined
}
