/** What the reflector needs of events and pages to work with them; everything else in them is the reader's business. */
import { BodyDecodeError } from '../client/body-codec.ts'
import type { KubeList, Versioned, WatchEvent } from '../objects.ts'
import { withExplanation } from '../status/generic-response.ts'
import { readFailure } from '../status/read-status.ts'
import { ApiError } from '../status/status.ts'
import { keyOf } from './view.ts'

/** The error to act on, or undefined for a usable event. */
export function problemWithEvent({ type, object }: WatchEvent<Versioned>): Error | undefined {
  if (type === 'ERROR') {
    const failure = readFailure(object, 500)
    return failure === undefined
      ? new BodyDecodeError('ERROR event: the object is not a Status')
      : new ApiError(withExplanation(failure))
  }
  if (!object.metadata?.resourceVersion) return new BodyDecodeError(`${type} event: the object has no resourceVersion`)
  if (type !== 'BOOKMARK' && !object.metadata.name) return new BodyDecodeError(`${type} event: the object has no name`)
  return undefined
}

export function problemWithPage({ metadata, items }: KubeList<Versioned>): Error | undefined {
  if (!metadata.continue && !metadata.resourceVersion) {
    return new BodyDecodeError('the list has no resourceVersion, so it cannot be watched from there')
  }
  const broken = items.find((item: Versioned) => !item.metadata?.name || !item.metadata.resourceVersion)
  if (broken === undefined) return undefined
  return new BodyDecodeError(`the list has an item without name or resourceVersion: ${JSON.stringify(keyOf(broken))}`)
}
