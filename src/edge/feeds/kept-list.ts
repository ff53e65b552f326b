/** A list of the API server as what is kept of it. Reading a long one takes long, so it is done in steps. */
import type { DocumentFormat } from '../../kube/document-format.ts'
import type { KubeList } from '../../kube/objects.ts'
import { type DocumentType, itemTypeOf } from '../../kube/walker/walker.ts'
import type { Steps } from '../../runtime/steps.ts'
import { KeptObject } from './kept-object.ts'

/** What the objects of a collection are; `listKind` where a list has said it. */
export interface LearnedType extends DocumentType {
  readonly listKind?: string | undefined
}

export function typeOfList({ apiVersion, kind: listKind }: DocumentType): LearnedType {
  return { ...itemTypeOf({ apiVersion, kind: listKind }), listKind }
}

/** Objects that are read in one step. */
const OBJECTS_IN_A_STEP = 32

/** Throws a WireError for what is no list. */
export function* readList({ encoding, walker }: DocumentFormat, body: Buffer): Steps<KubeList<KeptObject>> {
  const items: KeptObject[] = []
  for (const item of walker.items(body)) {
    items.push(new KeptObject(encoding, item.toDocument(), item.identity))
    if (items.length % OBJECTS_IN_A_STEP === 0) yield
  }
  return { metadata: walker.listMeta(body), items }
}
