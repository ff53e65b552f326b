/** What the lists of doubtful requests are made with. */
import { NODE } from './readings-world.ts'
import type { Asked } from './twins.ts'

export const ONE = '/api/v1/namespaces/one'
/** Watches that begin with what there is and say when that was all. */
export const EVERYTHING = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
/** Watches that show something and end. */
export const BRIEF = 'timeoutSeconds=1'
const WHO = ['admin', 'one-name', 'in-one', NODE, 'nobody'] as const

export function reads(targets: readonly string[], callers: readonly string[] = WHO, method = 'GET'): Asked[] {
  return targets.flatMap((target) => callers.map((by) => ({ method, target, by })))
}
