/** What can be done with one message that is an API object, in an envelope or in a list. */

import { type ProtoReader, WIRE_BYTES } from '../../protobuf/reader.ts'
import { type MessagePlan, planOf } from '../codec/plan.ts'
import { findKind, messageType } from '../schema/schema.ts'
import { ProtobufEdit } from './protobuf-edit.ts'
import { findMessage } from './protobuf-fields.ts'
import { type DocumentType, type FieldEdit, type FieldPath, FieldProbe, type ObjectIdentity } from './walker.ts'

export const META_PACKAGE = 'k8s.io.apimachinery.pkg.apis.meta.v1'

const metadataField = 1
/** The tags of four strings of ObjectMeta. */
const nameTag = (1 << 3) | WIRE_BYTES
const namespaceTag = (3 << 3) | WIRE_BYTES
const uidTag = (5 << 3) | WIRE_BYTES
const resourceVersionTag = (6 << 3) | WIRE_BYTES

/** The plan of a kind; where the schema does not know it, all that is certain is its metadata. */
export function planOfType({ apiVersion, kind }: DocumentType): MessagePlan {
  const known = findKind(apiVersion, kind)?.message
  if (known !== undefined) return planOf(known)
  return planOf(messageType(`${META_PACKAGE}.PartialObjectMetadata${kind.endsWith('List') ? 'List' : ''}`))
}

export function readField(message: Buffer, plan: MessagePlan, path: FieldPath): unknown {
  const probe = new FieldProbe(path)
  new ProtobufEdit(message, probe).run(plan)
  return probe.found
}

export function editFields(message: Buffer, plan: MessagePlan, edits: readonly FieldEdit[]): Buffer {
  return edits.reduce((bytes, edit) => new ProtobufEdit(bytes, edit).run(plan) ?? bytes, message)
}

/** Needs no schema: ObjectMeta is the same in all kinds. */
export function readIdentity(reader: ProtoReader, start: number, end: number): ObjectIdentity {
  const identity = { namespace: '', name: '', uid: '', resourceVersion: '' }
  const metadata = findMessage(reader, start, end, metadataField)
  if (metadata === undefined) return identity
  reader.pos = metadata.valueStart
  while (reader.pos < metadata.end) {
    const tag = reader.uint32(metadata.end)
    if (tag === nameTag) identity.name = reader.string(reader.lengthDelimited(metadata.end))
    else if (tag === namespaceTag) identity.namespace = reader.string(reader.lengthDelimited(metadata.end))
    else if (tag === uidTag) identity.uid = reader.string(reader.lengthDelimited(metadata.end))
    else if (tag === resourceVersionTag) identity.resourceVersion = reader.string(reader.lengthDelimited(metadata.end))
    else reader.skip(tag & 7, metadata.end)
  }
  return identity
}
