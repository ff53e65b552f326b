/**
 * Empties namespaces that are being deleted, and lets them go when nothing is left. Pods go first, and everything else
 * only after the last of them: a pod may need its Secrets and its NetworkPolicies to the end.
 */
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import { listGroupVersions } from '../../kube/schema/catalogue.ts'
import { Turns } from '../../runtime/turns.ts'
import { struct, texts } from '../kinds/fields.ts'
import { type Resource, storedResource } from '../objects/resource.ts'
import { type Controller, nameOfItem, placeOf } from './controller.ts'
import type { InternalClient } from './internal-client.ts'
import { type Remains, withConditions } from './namespace-conditions.ts'
import { NAMESPACES } from './namespace-state.ts'

/** Changes of the contents wake the controller; this is for what changes without being seen. */
export const NAMESPACE_RECHECK_MS = 15_000
/** Deletes under way at a time, so that a large namespace does not push aside everybody else. */
const MAX_PARALLEL_DELETES = 32

const kubernetesFinalizer = 'kubernetes'
/** Finalizers that stand for a propagation policy; deleting in the background takes them away. */
const policyFinalizers = ['orphan', 'foregroundDeletion']

export function namespaceController(client: InternalClient): Controller {
  return new NamespaceController(client)
}

class NamespaceController implements Controller {
  readonly name = 'namespaces'
  readonly #client: InternalClient
  readonly #contents = namespacedResources()
  readonly #terminating = new Set<string>()

  constructor(client: InternalClient) {
    this.#client = client
  }

  get sources(): Controller['sources'] {
    const contents = this.#contents.map((resource) => ({
      resource,
      keysOf: (item: Parameters<typeof placeOf>[0]): string[] => {
        if (this.#terminating.size === 0) return []
        const { namespace } = placeOf(item)
        return this.#terminating.has(namespace) ? [namespace] : []
      },
    }))
    return [{ resource: NAMESPACES, keysOf: (item) => [nameOfItem(item)] }, ...contents]
  }

  readonly reconcile = async (name: string, signal: AbortSignal): Promise<number | undefined> => {
    const place = { resource: NAMESPACES, namespace: '', name }
    const namespace = this.#client.get(place)
    if (
      namespace?.metadata?.deletionTimestamp === undefined ||
      !specFinalizers(namespace).includes(kubernetesFinalizer)
    ) {
      this.#terminating.delete(name)
      return undefined
    }
    this.#terminating.add(name)
    const remains = await this.#empty(name, signal)
    const now = this.#client.timestamp()
    await this.#client.update(place, signal, (present) => withConditions(present, remains, now), 'status')
    if (remains.objects.size > 0 || remains.failures.length > 0) return NAMESPACE_RECHECK_MS
    await this.#client.update(place, signal, released, 'finalize')
    return undefined
  }

  async #empty(namespace: string, signal: AbortSignal): Promise<Remains> {
    const isPods = ({ group, row }: Resource): boolean => group === '' && row.resource === 'pods'
    const pods = this.#contents.filter(isPods)
    const podFailures = await this.#deleteAll(pods, namespace, signal)
    const remainingPods = await this.#remains(pods, namespace, podFailures)
    if (remainingPods.objects.size > 0 || podFailures.length > 0) return remainingPods
    const failures = await this.#deleteAll(this.#contents, namespace, signal)
    return await this.#remains(this.#contents, namespace, failures)
  }

  /** Returns what went wrong, each thing once. */
  async #deleteAll(resources: readonly Resource[], namespace: string, signal: AbortSignal): Promise<string[]> {
    const doomed: { resource: Resource; name: string; uid: string }[] = []
    for await (const { resource, metadata } of this.#metadataOf(resources, namespace)) {
      if (isToBeDeleted(metadata)) doomed.push({ resource, name: metadata.name ?? '', uid: metadata.uid ?? '' })
    }
    const failures = new Set<string>()
    const deleteNext = async (): Promise<void> => {
      for (let next = doomed.pop(); next !== undefined && !signal.aborted; next = doomed.pop()) {
        const { resource, name, uid } = next
        const options = { propagationPolicy: 'Background', preconditions: { uid } } as const
        await this.#client.delete({ resource, namespace, name }, signal, options).catch((error: unknown) => {
          failures.add((error as Error).message)
        })
      }
    }
    await Promise.all(Array.from({ length: MAX_PARALLEL_DELETES }, deleteNext))
    signal.throwIfAborted()
    return [...failures]
  }

  async #remains(resources: readonly Resource[], namespace: string, failures: readonly string[]): Promise<Remains> {
    const objects = new Map<string, number>()
    const finalizers = new Map<string, number>()
    for await (const { resource, metadata } of this.#metadataOf(resources, namespace)) {
      const type = `${resource.row.resource}.${resource.group}`
      objects.set(type, (objects.get(type) ?? 0) + 1)
      for (const name of metadata.finalizers ?? []) finalizers.set(name, (finalizers.get(name) ?? 0) + 1)
    }
    return { objects, finalizers, failures }
  }

  /** Of all that is in the namespace, in slices: it may be much. */
  async *#metadataOf(
    resources: readonly Resource[],
    namespace: string,
  ): AsyncGenerator<{ resource: Resource; metadata: ObjectMeta }, void, undefined> {
    const turns = new Turns(this.#client.clock)
    for (const resource of resources) {
      for (const item of this.#client.items(resource, namespace)) {
        if (turns.isOver) await turns.next()
        yield { resource, metadata: item.metadata() }
      }
    }
  }
}

function isToBeDeleted(metadata: ObjectMeta): boolean {
  return (
    metadata.deletionTimestamp === undefined ||
    (metadata.finalizers ?? []).some((finalizer) => policyFinalizers.includes(finalizer))
  )
}

function specFinalizers(namespace: KubeObject): string[] {
  return texts(struct(namespace, 'spec'), 'finalizers')
}

function released(namespace: KubeObject): KubeObject {
  const finalizers = specFinalizers(namespace).filter((finalizer) => finalizer !== kubernetesFinalizer)
  return { ...namespace, spec: { ...struct(namespace, 'spec'), finalizers } }
}

/** Everything that is kept in namespaces, each place once: several versions of a kind share one. */
function namespacedResources(): Resource[] {
  const byPrefix = new Map<string, Resource>()
  for (const { group, version, resources } of listGroupVersions()) {
    for (const row of resources) {
      const resource = row.namespaced ? storedResource(group, version, row.resource) : undefined
      if (resource === undefined) continue
      // The stored version's own group owns the place; others, as for Events, only lead to it.
      const isOwner = resource.apiVersion === resource.storedApiVersion
      if (isOwner || !byPrefix.has(resource.keyPrefix)) byPrefix.set(resource.keyPrefix, resource)
    }
  }
  return [...byPrefix.values()]
}
