/** Where a join token comes from, and which node it is for. */
import {
  type JoinToken,
  JoinTokenError,
  MAX_JOIN_TOKEN_BYTES,
  readJoinToken,
  tokenCovers,
} from '../../identity/join-token.ts'
import { nodeNameProblem } from '../../identity/node-name.ts'
import type { EdgeFiles } from '../identity/edge-files.ts'
import { tokenCommand } from './join-error.ts'

/** A file is removed after the join; a text, from standard input or elsewhere, is nobody's to remove. */
export type TokenSource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'text'; readonly text: string }

/** `undefined` if there is no such file: the join that removed it may have been ours. */
export async function readToken(source: TokenSource, files: EdgeFiles): Promise<JoinToken | undefined> {
  if (source.kind === 'text') return readGiven(source.text, 'what was given as the join token')
  // Room for blank lines that an editor leaves around it.
  const content = await files.readForeign(source.path, 2 * MAX_JOIN_TOKEN_BYTES)
  return content === undefined ? undefined : readGiven(content.toString('utf8'), `the token file ${source.path}`)
}

/** A shell makes the file, or the pipe, also for a command that fails. */
function readGiven(text: string, what: string): JoinToken {
  if (text.trim() === '')
    throw new JoinTokenError('malformed', `${what} is empty: see whether the command that makes the token has failed`)
  return readJoinToken(text)
}

export interface NodeNameFault {
  readonly code: string
  readonly why: string
  readonly advice: string
}

/** The name to join under: the wanted one, else the one the token is for, else the fallback. */
export function nodeToJoinAs(
  wanted: string | undefined,
  pattern: string | undefined,
  fallback?: string,
): string | NodeNameFault {
  const node = wanted ?? (pattern?.includes('*') === true ? undefined : pattern) ?? fallback
  if (node === undefined)
    return { code: 'no-node-name', why: 'no node name is given, nor in the token', advice: 'Give one with --node-name' }
  const problem = nodeNameProblem(node)
  if (problem !== undefined)
    return { code: 'name-invalid', why: problem, advice: 'Choose another name with --node-name' }
  if (tokenCovers(pattern, node)) return node
  const why = `the token is for ${pattern}, not for ${node}`
  return { code: 'token-for-other-node', why, advice: `Make one for this node: ${tokenCommand(node)}` }
}
