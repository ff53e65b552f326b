/** How many bytes the objects of a feed are, as they came: counted anew for a list, and by what changed otherwise. */
import type { Change } from '../../kube/reflector/view.ts'
import type { KeptObject } from './kept-object.ts'

/** All of them together. */
export function bytesOf(objects: Iterable<KeptObject>): number {
  let bytes = 0
  for (const { document } of objects) bytes += document.length
  return bytes
}

/** By how much these made a collection larger, or smaller. */
export function grownBy(changes: readonly Change<KeptObject>[]): number {
  let bytes = 0
  for (const change of changes) {
    const { length } = change.object.document
    if (change.type === 'deleted') bytes -= length
    else bytes += change.type === 'added' ? length : length - change.previous.document.length
  }
  return bytes
}
