/** A list of the API server as what is kept of it. Reading a long one takes long, so it is done in steps. */
import { DOCUMENT_FORMATS, type DocumentFormat } from '../../kube/document-format.ts'
import type { KubeList } from '../../kube/objects.ts'
import { type DocumentType, itemTypeOf } from '../../kube/walker/walker.ts'
import type { Steps } from '../../runtime/steps.ts'
import { KeptObject } from './kept-object.ts'
import type { CollectionType } from './representing.ts'

/** What the objects of a collection are: `kind` where an object has said it, else empty, and `listKind` where a list has. */
export interface LearnedType extends DocumentType {
  readonly listKind?: string | undefined
}

/** Of a list and the first of its objects, if it has any. */
export function typeOfList({ apiVersion, kind: listKind }: DocumentType, first?: KeptObject): LearnedType {
  const kind = first === undefined ? '' : DOCUMENT_FORMATS[first.encoding].walker.typeOf(first.document).kind
  return { apiVersion, kind, listKind: listKind || undefined }
}

/**
 * What is known of a collection now that this was learnt. A custom resource may call its lists as it likes, so neither kind says
 * the other for certain: what a list has said of lists stays, and what an object has said of objects.
 */
export function learnType(known: CollectionType | undefined, learned: LearnedType): CollectionType | undefined {
  const { apiVersion, listKind } = learned
  if (listKind !== undefined) {
    const kind = learned.kind || known?.kind || itemTypeOf({ apiVersion, kind: listKind }).kind
    const isKnown = known?.kind === kind && known.listKind === listKind && known.isListKindGuessed !== true
    return isKnown ? known : { apiVersion, kind, listKind }
  }
  const { kind } = learned
  if (kind === '' || kind === known?.kind) return known
  if (known !== undefined && known.isListKindGuessed !== true) return { ...known, kind }
  return { apiVersion, kind, listKind: `${kind}List`, isListKindGuessed: true }
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
