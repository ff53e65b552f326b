/** The body of a get: one object. */
import type { DocumentWalker } from '../../kube/walker/walker.ts'
import type { ObjectJudge } from './object-judge.ts'

/** The document itself where nothing changes, null where the object is dropped. Throws a WireError for broken bytes. */
export function filterObject(walker: DocumentWalker, document: Uint8Array, judge: ObjectJudge): Uint8Array | null {
  if (!judge.covers(walker.typeOf(document))) return document
  const view = { identity: walker.identityOf(document), read: walker.read.bind(walker, document) }
  return judge.apply(view, (edits) => walker.edit(document, edits))
}
