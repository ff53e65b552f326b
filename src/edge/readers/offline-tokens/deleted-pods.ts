/** Pods whose deletion this edge has seen, by uid: their tokens are worth nothing any more, however good their signatures are. */
import { KeptNames, type KeptNamesOptions } from './kept-names.ts'

/** More than a node deletes while a token of one of them is good; beyond, the one deleted longest ago is forgotten. */
const MAX_DELETED_PODS = 8_192
/** Uids are of 36 characters; what is much longer is none. */
const MAX_POD_UID_CHARS = 64

export class DeletedPods extends KeptNames {
  constructor(options: KeptNamesOptions) {
    super('deleted-pods', { maxNames: MAX_DELETED_PODS, maxNameChars: MAX_POD_UID_CHARS }, options)
  }
}
