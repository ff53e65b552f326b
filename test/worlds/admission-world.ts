/** A cluster made of plain objects, in which admission plugins look things up, and the requests that they are asked about. */
import type { ObjectLookup, Reading, UnreadObject } from '../../src/apiserver/admission/lookup.ts'
import type { AdmissionRequest } from '../../src/apiserver/core/admission.ts'
import { type Resource, storedResource } from '../../src/apiserver/objects/resource.ts'
import type { UserInfo } from '../../src/apiserver/request/user.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import type { GroupResource } from '../../src/kube/status/group-names.ts'

export class World implements ObjectLookup {
  readonly #objects = new Map<string, KubeObject[]>()

  /** The resource is written as in `resourceOf`. */
  add(resource: string, ...objects: readonly KubeObject[]): this {
    const { groupResource, apiVersion, kind } = resourceOf(resource)
    const key = keyOf(groupResource)
    const complete = objects.map((object) => ({ kind, apiVersion, ...object }))
    this.#objects.set(key, [...(this.#objects.get(key) ?? []), ...complete])
    return this
  }

  unread(resource: GroupResource, namespace: string): UnreadObject[] {
    return this.list(resource, namespace).map((object) => ({
      metadata: () => object.metadata ?? {},
      object: () => object,
    }))
  }

  *reads<Read>(resource: GroupResource, namespace: string, reading: Reading<Read>): Generator<Read, void, undefined> {
    for (const object of this.list(resource, namespace)) yield reading.read(object)
  }

  count(resource: GroupResource, namespace: string): number {
    return this.list(resource, namespace).length
  }

  has(resource: GroupResource, namespace: string, name: string): boolean {
    return this.find(resource, namespace, name) !== undefined
  }

  list(resource: GroupResource, namespace: string): KubeObject[] {
    const all = this.#objects.get(keyOf(resource)) ?? []
    return structuredClone(all.filter(({ metadata }) => namespace === '' || metadata?.namespace === namespace))
  }

  find(resource: GroupResource, namespace: string, name: string): KubeObject | undefined {
    return this.list(resource, namespace).find(({ metadata }) => metadata?.name === name)
  }
}

function keyOf({ group, resource }: GroupResource): string {
  return `${group}/${resource}`
}

/** `pods`, or `apps/v1/deployments` outside of the core group. */
export function resourceOf(text: string): Resource {
  const [group = '', version = '', plural = ''] = text.includes('/') ? text.split('/') : ['', 'v1', text]
  const resource = storedResource(group, version, plural)
  if (resource === undefined) throw new Error(`no resource ${text}`)
  return resource
}

const ADMIN_USER: UserInfo = { name: 'admin', uid: '', groups: ['system:masters'], extra: {} }

export interface AdmissionQuestion {
  readonly resource: string
  readonly operation?: AdmissionRequest['operation']
  readonly subresource?: string
  readonly object?: KubeObject
  readonly old?: KubeObject
  readonly user?: UserInfo
  readonly dryRun?: boolean
  readonly warn?: (text: string) => void
}

/** A create unless said otherwise; name and namespace are those of the object. */
export function admissionRequest(question: AdmissionQuestion): AdmissionRequest {
  const { operation = 'CREATE', subresource = '', object, old, user = ADMIN_USER, dryRun = false } = question
  const { name = '', namespace = '' } = object?.metadata ?? old?.metadata ?? {}
  return {
    ...{ operation, subresource, namespace, name, user, dryRun, object, old },
    resource: resourceOf(question.resource),
    warn: question.warn ?? (() => undefined),
  }
}
