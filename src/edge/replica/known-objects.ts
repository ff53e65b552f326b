/** Single objects that something here depends on, as the feeds have them. */
import type { KubeObject } from '../../kube/objects.ts'
import type { JsonObject } from '../../kube/patch/json-value.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import type { Feeds } from '../feeds/feeds.ts'
import type { KeptObject } from '../feeds/kept-object.ts'
import { type LocalPod, localPodOf } from '../local-pods/local-pod.ts'
import { objectKey } from './local-answer.ts'
import { scopeOfObject } from './reading.ts'

type Named = Pick<LocalPod, 'namespace' | 'name'>

/** The Pod as a read of it is answered while the API server cannot be reached. */
export function servedPod(feeds: Feeds, pod: Named): JsonObject | undefined {
  const found = knownObject(feeds, 'pods', pod)
  return found && readValue(found)
}

/** What the API server last showed here of a pod, if it is still the same one. */
export function upstreamPod(feeds: Feeds, pod: LocalPod): LocalPod | undefined {
  const value = servedPod(feeds, pod)
  const upstream = value && localPodOf(value)
  return upstream?.uid === pod.uid ? upstream : undefined
}

/** Undefined where the Service is not known here. */
export function publishesNotReady(feeds: Feeds, namespace: string, name: string): boolean | undefined {
  const service = knownObject(feeds, 'services', { namespace, name })
  return service && service.read(['spec', 'publishNotReadyAddresses']) === true
}

function knownObject(feeds: Feeds, resource: string, { namespace, name }: Named): KeptObject | undefined {
  const named = { apiGroup: '', apiVersion: 'v1', resource, isInNamespace: true, namespace, name }
  const key = objectKey(named)
  return feeds.covering(scopeOfObject(named), key)?.objects.get(key)
}

function readValue(object: KeptObject): KubeObject | undefined {
  try {
    return object.value()
  } catch (error) {
    if (error instanceof WireError) return undefined
    throw error
  }
}
