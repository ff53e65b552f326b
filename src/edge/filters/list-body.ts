/** The body of a list: objects of one kind. */
import type { DocumentWalker } from '../../kube/walker/walker.ts'
import type { ObjectJudge } from './object-judge.ts'

/** The document itself where nothing changes. Objects that no filter touches keep their bytes. Throws a WireError. */
export function filterList(walker: DocumentWalker, document: Uint8Array, judge: ObjectJudge): Uint8Array {
  if (!judge.covers(walker.typeOf(document), 'List')) return document
  return walker.mapItems(document, (item) =>
    judge.covers(item.type) ? judge.apply(item, (edits) => item.edit(edits)) : undefined,
  )
}
