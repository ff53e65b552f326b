/** Files that kubelets write into volumes: keys of Secrets and ConfigMaps, fields of the pod. */
import { type FieldError, invalidField, requiredField } from '../../../kube/status/field-error.ts'
import { checkRequired } from '../checks.ts'
import { type Fields, integer, struct, text } from '../fields.ts'
import { checkFieldRef, checkResourceRef } from './environment.ts'
import { checkFileMode, checkUnreservedPath } from './paths.ts'

const volumeFieldPaths = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]

export function checkKeyToPath(item: Fields, path: string): FieldError[] {
  return [
    ...checkRequired(text(item, 'key'), `${path}.key`),
    ...checkRequired(text(item, 'path'), `${path}.path`),
    ...checkUnreservedPath(text(item, 'path'), `${path}.path`),
    ...checkFileMode(integer(item, 'mode'), `${path}.mode`),
  ]
}

/** The API server names the volume and not the item here. */
export function checkDownwardFile(file: Fields, path: string): FieldError[] {
  return [
    ...checkRequired(text(file, 'path'), `${path}.path`),
    ...checkUnreservedPath(text(file, 'path'), `${path}.path`),
    ...checkDownwardReference(file, path),
    ...checkFileMode(integer(file, 'mode'), `${path}.mode`),
  ]
}

function checkDownwardReference(file: Fields, path: string): FieldError[] {
  const fieldRef = struct(file, 'fieldRef')
  const resourceRef = struct(file, 'resourceFieldRef')
  if (fieldRef !== undefined) {
    const detail = 'fieldRef and resourceFieldRef can not be specified simultaneously'
    return [
      ...checkFieldRef(fieldRef, volumeFieldPaths, `${path}.fieldRef`),
      ...(resourceRef === undefined ? [] : [invalidField(path, 'resource', detail)]),
    ]
  }
  return resourceRef === undefined
    ? [requiredField(path, 'one of fieldRef and resourceFieldRef is required')]
    : checkResourceRef(resourceRef, true, `${path}.resourceFieldRef`)
}
