/**
 * One stored object in memory: the bytes of its JSON as it is sent, and what is worked out from them on demand. An item
 * never changes; a new state of the object is a new item.
 *
 * The store keeps the JSON without a resourceVersion, since only the store knows that number, and only after the write.
 * It is put in here, behind the uid, where an API server prints it.
 */

import { parseJson, printJson } from '../../kube/codec/json.ts'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import { readSelectable, selectableValue } from '../../kube/collection/selectable-fields.ts'
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import { valueEnd } from '../../kube/walker/json-skip.ts'
import type { StoredEntry } from '../storage/store.ts'

/** Nearly everything that clusters hold is smaller; what is larger may take longer than others should wait. */
export const MAX_INLINE_OBJECT_BYTES = 64 * 1024

const uidMember = Buffer.from('"uid":"')
const metadataMember = Buffer.from('"metadata":')
const quote = 0x22

export class Item {
  readonly key: string
  readonly revision: number
  /** The object in JSON, complete, without a line feed. */
  readonly json: Buffer
  #labels: ReadonlyMap<string, string> | undefined
  #fields: Map<string, string> | undefined
  #protobuf: Buffer | undefined

  constructor(key: string, revision: number, json: Buffer) {
    this.key = key
    this.revision = revision
    this.json = json
  }

  static fromEntry(entry: StoredEntry): Item {
    return new Item(entry.key, entry.modRevision, insertVersion(entry.value, entry.modRevision))
  }

  /** The same state under another revision: what a watcher is told of an object that has gone. */
  at(revision: number): Item {
    const mine = Buffer.from(`"resourceVersion":"${this.revision}"`)
    const start = this.json.indexOf(mine)
    const parts = [
      this.json.subarray(0, start),
      Buffer.from(`"resourceVersion":"${revision}"`),
      this.json.subarray(start + mine.length),
    ]
    return new Item(this.key, revision, Buffer.concat(parts))
  }

  /** Whether the store would keep just this for the object: writing it again would change nothing. */
  holds(value: Buffer): boolean {
    return insertVersion(value, this.revision).equals(this.json)
  }

  /** A fresh copy, for the caller to change. */
  object(): KubeObject {
    return parseJson(this.json.toString('utf8')) as KubeObject
  }

  /** Whether reading or printing it as a whole is work for the other thread. */
  get isLarge(): boolean {
    return this.json.length > MAX_INLINE_OBJECT_BYTES
  }

  /** The name stands at the end of the key, where no other character can be a slash. */
  get name(): string {
    return this.key.slice(this.key.lastIndexOf('/') + 1)
  }

  /** The metadata as they stand in the JSON. Only kind and apiVersion come before them, and neither holds a quote. */
  get metadataJson(): Buffer {
    const { json } = this
    const start = json.indexOf(metadataMember) + metadataMember.length
    return json.subarray(start, valueEnd(json, start, json.length))
  }

  /** A fresh copy. Far less work than the whole object where that is large. */
  metadata(): ObjectMeta {
    return parseJson(this.metadataJson.toString('utf8')) as ObjectMeta
  }

  /** Kept: every watch with a selector asks each object for them. */
  get labels(): ReadonlyMap<string, string> {
    this.#labels ??= new Map(Object.entries(this.metadata().labels ?? {}))
    return this.#labels
  }

  /** The value of a selectable field. Kept: every kubelet's watch asks each pod for its node. */
  field(kind: string, name: string): string {
    this.#fields ??= new Map()
    let value = this.#fields.get(name)
    if (value === undefined) {
      value = selectableValue(kind, this.isLarge ? readSelectable(kind, this.json) : this.object(), name)
      this.#fields.set(name, value)
    }
    return value
  }

  /** The object in its envelope. Kept: objects are read far more often than written. */
  get protobuf(): Buffer {
    this.#protobuf ??= encodeProtobuf(this.object()).bytes
    return this.#protobuf
  }

  get hasProtobuf(): boolean {
    return this.#protobuf !== undefined
  }

  /** What somebody else has made of the same JSON. */
  keepProtobuf(bytes: Buffer): void {
    this.#protobuf = bytes
  }
}

/** Of an item whose resource has namespaces: its key ends in `/namespace/name`. */
export function namespaceOf({ key, name }: Item): string {
  const end = key.length - name.length - 1
  return key.slice(key.lastIndexOf('/', end - 1) + 1, end)
}

/** What the store keeps: the JSON of the object without its resourceVersion. The object must have a uid. */
export function storedValue(object: KubeObject): Buffer {
  const { resourceVersion: _version, ...metadata } = object.metadata ?? {}
  return Buffer.from(printJson({ ...object, metadata }))
}

/**
 * Names and namespaces hold no quotes, so the first uid in the text is the object's own. The bytes get memory of their own:
 * a part of Node's pool that is kept for long would keep all its short-lived neighbours too.
 */
function insertVersion(value: Buffer, revision: number): Buffer {
  const member = value.indexOf(uidMember)
  if (member === -1) throw new Error('a stored object has no uid')
  const end = value.indexOf(quote, member + uidMember.length) + 1
  // What a dry run made was never written and has no version.
  const version = Buffer.from(revision === 0 ? '' : `,"resourceVersion":"${revision}"`)
  const json = Buffer.allocUnsafeSlow(value.length + version.length)
  value.copy(json, 0, 0, end)
  version.copy(json, end)
  value.copy(json, end + version.length, end)
  return json
}
