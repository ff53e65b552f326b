/**
 * Which objects a node has business with: the pods bound to it, what those pods refer to, and through their claims the
 * volumes and the secrets of those. Entries live exactly as long as the objects that made them.
 */
import type { KubeObject } from '../../../kube/objects.ts'
import { type PodObject, podReferences } from './pod-references.ts'
import type { GraphResource, RelatedResource } from './resources.ts'
import { type PersistentVolumeObject, volumeSecrets } from './volume-references.ts'

interface NodeObject extends KubeObject {
  readonly spec?: { readonly nodeName?: string }
}

interface Holder {
  readonly node: string
  readonly objects: readonly string[]
}

interface Volume {
  readonly claim: string
  readonly secrets: readonly string[]
}

export class NodeGraph {
  /** Pods, attachments and slices with all they lead to, themselves included. */
  readonly #holders = new Map<string, Holder>()
  /** For each object the nodes it is related to, and through how many holders. */
  readonly #nodes = new Map<string, Map<string, number>>()
  readonly #volumes = new Map<string, Volume>()
  readonly #volumesOfSecret = new Map<string, Set<Volume>>()

  /** How many objects are known to matter to some node. */
  get size(): number {
    return this.#nodes.size + this.#volumes.size + this.#volumesOfSecret.size
  }

  put(resource: GraphResource, object: KubeObject): void {
    const { namespace = '', name = '' } = object.metadata ?? {}
    this.remove(resource, namespace, name)
    const key = objectKey(resource, namespace, name)
    if (resource === 'persistentvolumes') this.#putVolume(key, object)
    else this.#hold(key, (object as NodeObject).spec?.nodeName ?? '', resource === 'pods' ? podObjects(object) : [])
  }

  remove(resource: GraphResource, namespace: string, name: string): void {
    const key = objectKey(resource, namespace, name)
    if (resource === 'persistentvolumes') this.#removeVolume(key)
    else this.#release(key)
  }

  isRelated(node: string, resource: RelatedResource, namespace: string, name: string): boolean {
    const key = objectKey(resource, namespace, name)
    if (resource === 'persistentvolumes') return this.#claimIsRelated(node, this.#volumes.get(key))
    if (this.#nodes.get(key)?.has(node)) return true
    for (const volume of this.#volumesOfSecret.get(key) ?? []) if (this.#claimIsRelated(node, volume)) return true
    return false
  }

  #claimIsRelated(node: string, volume: Volume | undefined): boolean {
    return volume !== undefined && this.#nodes.get(volume.claim)?.has(node) === true
  }

  /** A pod that is not bound yet concerns no node. */
  #hold(key: string, node: string, related: readonly string[]): void {
    if (node === '') return
    const objects = [...new Set([key, ...related])]
    this.#holders.set(key, { node, objects })
    for (const object of objects) {
      const counts = this.#nodes.get(object) ?? new Map<string, number>()
      this.#nodes.set(object, counts.set(node, (counts.get(node) ?? 0) + 1))
    }
  }

  #release(key: string): void {
    const holder = this.#holders.get(key)
    if (holder === undefined) return
    this.#holders.delete(key)
    for (const object of holder.objects) this.#releaseObject(object, holder.node)
  }

  #releaseObject(object: string, node: string): void {
    const counts = this.#nodes.get(object)
    const left = (counts?.get(node) ?? 0) - 1
    if (left > 0) counts?.set(node, left)
    else counts?.delete(node)
    if (counts?.size === 0) this.#nodes.delete(object)
  }

  /** A volume without a claim leads nowhere. */
  #putVolume(key: string, object: PersistentVolumeObject): void {
    const claimRef = object.spec?.claimRef
    if (!claimRef) return
    const claim = objectKey('persistentvolumeclaims', claimRef.namespace ?? '', claimRef.name ?? '')
    const secrets = volumeSecrets(object).map(({ namespace, name }) => objectKey('secrets', namespace, name))
    const volume: Volume = { claim, secrets }
    this.#volumes.set(key, volume)
    for (const secret of secrets) {
      const volumes = this.#volumesOfSecret.get(secret) ?? new Set<Volume>()
      this.#volumesOfSecret.set(secret, volumes.add(volume))
    }
  }

  #removeVolume(key: string): void {
    const volume = this.#volumes.get(key)
    if (volume === undefined) return
    this.#volumes.delete(key)
    for (const secret of volume.secrets) {
      const volumes = this.#volumesOfSecret.get(secret)
      volumes?.delete(volume)
      if (volumes?.size === 0) this.#volumesOfSecret.delete(secret)
    }
  }
}

function podObjects(pod: PodObject): string[] {
  const namespace = pod.metadata?.namespace ?? ''
  return podReferences(pod).map(([resource, name]) => objectKey(resource, namespace, name))
}

/** Neither names nor namespaces hold a slash, so no two objects share a key. */
function objectKey(resource: RelatedResource, namespace: string, name: string): string {
  return `${resource}/${namespace}/${name}`
}
