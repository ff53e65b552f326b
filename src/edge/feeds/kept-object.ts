/**
 * One object of a feed, as the bytes in which the API server sent it: fields that nobody here knows survive. It is read, and
 * turned into the other encoding, only where somebody asks for that; and then it says whether anything would be lost.
 */
import { parseJson, printJson } from '../../kube/codec/json.ts'
import { decodeProtobuf, encodeProtobuf } from '../../kube/codec/object-codec.ts'
import { DOCUMENT_FORMATS, type DocumentEncoding } from '../../kube/document-format.ts'
import type { KubeObject, ObjectMeta, Versioned } from '../../kube/objects.ts'
import type { DocumentWalker, FieldPath } from '../../kube/walker/walker.ts'
import { WireError } from '../../protobuf/wire-error.ts'
import { type CopyTicket, copies } from './copies.ts'

export class KeptObject implements Versioned {
  /** Only what tells it from others; the rest is in the bytes. */
  readonly metadata: ObjectMeta
  readonly encoding: DocumentEncoding
  /** A document of its own: with its type, in protobuf within an envelope. */
  readonly document: Buffer
  /** In the other encoding, once it was asked for; null where that would lose something. */
  #other: CopyTicket | null | undefined

  /** Takes a copy: what came is mostly a piece of something much larger. Throws a WireError. */
  constructor(
    encoding: DocumentEncoding,
    document: Uint8Array,
    { name, namespace, uid, resourceVersion } = DOCUMENT_FORMATS[encoding].walker.identityOf(document),
  ) {
    this.metadata = { name, uid, resourceVersion }
    if (namespace !== '') this.metadata.namespace = namespace
    this.encoding = encoding
    this.document = Buffer.allocUnsafeSlow(document.length)
    this.document.set(document)
  }

  get #walker(): DocumentWalker {
    return DOCUMENT_FORMATS[this.encoding].walker
  }

  get version(): string {
    return this.metadata.resourceVersion ?? ''
  }

  /** Read anew each time: what is kept of an object is its bytes, which are counted. */
  get labels(): ReadonlyMap<string, string> {
    return new Map(Object.entries((this.read(['metadata', 'labels']) ?? {}) as Record<string, string>))
  }

  /** The value that the path leads to, as JSON has it. */
  read(path: FieldPath): unknown {
    return this.#walker.read(this.document, path)
  }

  /** The whole object. */
  value(): KubeObject {
    return this.encoding === 'json'
      ? (parseJson(this.document.toString('utf8')) as KubeObject)
      : decodeProtobuf(this.document).object
  }

  /** Undefined where the object has something that cannot be said in this encoding, or that we do not know how to. */
  in(encoding: DocumentEncoding): Buffer | undefined {
    if (encoding === this.encoding) return this.document
    if (this.#other === null) return undefined
    const known = this.#other && copies.find(this.#other)
    if (known !== undefined) return known
    const made = transcoded(this.document, this.encoding)
    this.#other = made === undefined ? null : copies.keep(made)
    return made
  }

  /** The same object under another version. */
  at(resourceVersion: string): KeptObject {
    const edit = { path: ['metadata', 'resourceVersion'], replace: () => resourceVersion }
    return new KeptObject(this.encoding, this.#walker.edit(this.document, [edit]))
  }
}

function transcoded(document: Buffer, from: DocumentEncoding): Buffer | undefined {
  try {
    if (from === 'json') {
      const { bytes, dropped } = encodeProtobuf(parseJson(document.toString('utf8')) as KubeObject)
      return dropped.count === 0 ? bytes : undefined
    }
    const { object, dropped } = decodeProtobuf(document)
    return dropped.count === 0 ? Buffer.from(printJson(object)) : undefined
  } catch (error) {
    // Of a kind that the schema does not know, or with a value that it does not allow.
    if (error instanceof WireError) return undefined
    throw error
  }
}
