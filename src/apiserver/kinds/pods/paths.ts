/** Paths inside containers and volumes, written by people and followed by kubelets. */
import { type FieldError, invalidField } from '../../../kube/status/field-error.ts'

const MAX_FILE_MODE = 0o777

export function checkNoBacksteps(path: string, at: string): FieldError[] {
  return path.split('/').includes('..') ? [invalidField(at, path, "must not contain '..'")] : []
}

export function checkDescendingPath(path: string, at: string): FieldError[] {
  const absolute = path.startsWith('/') ? [invalidField(at, path, 'must be a relative path')] : []
  return [...absolute, ...checkNoBacksteps(path, at)]
}

/** Names that begin with two dots are kept for the kubelet's own bookkeeping. */
export function checkUnreservedPath(path: string, at: string): FieldError[] {
  const reserved = path.startsWith('..') && !path.startsWith('../')
  return [...checkDescendingPath(path, at), ...(reserved ? [invalidField(at, path, "must not start with '..'")] : [])]
}

export function checkFileMode(mode: number | undefined, at: string): FieldError[] {
  if (mode === undefined || (mode >= 0 && mode <= MAX_FILE_MODE)) return []
  return [invalidField(at, mode, 'must be a number between 0 and 0777 (octal), both inclusive')]
}
