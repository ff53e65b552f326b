/** Where containers mount the volumes of their pod, and which of them they use as raw devices. */
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notFoundField,
  notSupportedField,
  requiredField,
} from '../../../kube/status/field-error.ts'
import { checkEach } from '../checks.ts'
import { type Fields, flag, structs, text } from '../fields.ts'
import { checkDescendingPath, checkNoBacksteps } from './paths.ts'
import { isBlockSource, isPrivileged } from './volumes.ts'

const propagations = ['Bidirectional', 'HostToContainer', 'None']
const recursiveModes = ['Disabled', 'Enabled', 'IfPossible']

export function checkMounts(container: Fields, volumes: ReadonlyMap<string, Fields>, path: string): FieldError[] {
  const devices = namesAndPaths(structs(container, 'volumeDevices'), 'devicePath')
  const mountPaths = new Set<string>()
  return checkEach(structs(container, 'volumeMounts'), `${path}.volumeMounts`, (mount, at) => {
    const [name, mountPath] = [text(mount, 'name'), text(mount, 'mountPath')]
    const errors = name === '' ? [requiredField(`${at}.name`)] : []
    if (!volumes.has(name)) errors.push(notFoundField(`${at}.name`, name))
    if (mountPath === '') errors.push(requiredField(`${at}.mountPath`))
    if (mountPaths.has(mountPath)) errors.push(invalidField(`${at}.mountPath`, mountPath, 'must be unique'))
    mountPaths.add(mountPath)
    if (devices.names.has(name)) {
      errors.push(invalidField(`${at}.name`, name, 'must not already exist in volumeDevices'))
    }
    if (devices.paths.has(mountPath)) {
      errors.push(invalidField(`${at}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices'))
    }
    return [...errors, ...checkMountOptions(mount, container, at, `${path}.volumeMounts`)]
  })
}

function namesAndPaths(items: readonly Fields[], path: string): { names: Set<string>; paths: Set<string> } {
  return {
    names: new Set(items.map((item) => text(item, 'name'))),
    paths: new Set(items.map((item) => text(item, path))),
  }
}

/** Most options are reported at the list, without an index: the API server does so. */
function checkMountOptions(mount: Fields, container: Fields, path: string, listPath: string): FieldError[] {
  const [subPath, expression] = [text(mount, 'subPath'), text(mount, 'subPathExpr')]
  const errors = subPath === '' ? [] : checkDescendingPath(subPath, `${listPath}.subPath`)
  if (expression !== '') {
    const detail = 'subPathExpr and subPath are mutually exclusive'
    if (subPath !== '') errors.push(invalidField(`${path}.subPathExpr`, expression, detail))
    errors.push(...checkDescendingPath(expression, `${listPath}.subPathExpr`))
  }
  return [
    ...errors,
    ...checkPropagation(text(mount, 'mountPropagation'), container, `${listPath}.mountPropagation`),
    ...checkRecursiveReadOnly(mount, `${listPath}.recursiveReadOnly`),
  ]
}

function checkPropagation(propagation: string, container: Fields, path: string): FieldError[] {
  if (propagation === '') return []
  const detail = 'Bidirectional mount propagation is available only to privileged containers'
  if (!propagations.includes(propagation)) return [notSupportedField(path, propagation, propagations)]
  return propagation === 'Bidirectional' && !isPrivileged(container) ? [forbiddenField(path, detail)] : []
}

function checkRecursiveReadOnly(mount: Fields, path: string): FieldError[] {
  const mode = text(mount, 'recursiveReadOnly')
  if (mode === '' || mode === 'Disabled') return []
  if (!recursiveModes.includes(mode)) return [notSupportedField(path, mode, recursiveModes)]
  const errors = flag(mount, 'readOnly') ? [] : [forbiddenField(path, 'may only be specified when readOnly is true')]
  if (!['', 'None'].includes(text(mount, 'mountPropagation'))) {
    errors.push(forbiddenField(path, 'may only be specified when mountPropagation is None or not specified'))
  }
  return errors
}

export function checkDevices(container: Fields, volumes: ReadonlyMap<string, Fields>, path: string): FieldError[] {
  const mounts = namesAndPaths(structs(container, 'volumeMounts'), 'mountPath')
  const [names, paths] = [new Set<string>(), new Set<string>()]
  return checkEach(structs(container, 'volumeDevices'), `${path}.volumeDevices`, (device, at) => {
    const [name, devicePath] = [text(device, 'name'), text(device, 'devicePath')]
    const errors = checkDeviceName(name, names, volumes.get(name), `${at}.name`)
    if (devicePath === '') errors.push(requiredField(`${at}.devicePath`))
    if (paths.has(devicePath)) errors.push(invalidField(`${at}.devicePath`, devicePath, 'must be unique'))
    if (checkNoBacksteps(devicePath, at).length > 0) {
      errors.push(invalidField(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')"))
    } else paths.add(devicePath)
    if (mounts.names.has(name)) {
      errors.push(invalidField(`${at}.name`, name, 'must not already exist in volumeMounts'))
    }
    if (mounts.paths.has(devicePath)) {
      errors.push(invalidField(`${at}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts'))
    }
    if (name !== '') names.add(name)
    return errors
  })
}

function checkDeviceName(
  name: string,
  names: ReadonlySet<string>,
  volume: Fields | undefined,
  path: string,
): FieldError[] {
  const errors = name === '' ? [requiredField(path)] : []
  if (names.has(name)) errors.push(invalidField(path, name, 'must be unique'))
  const detail = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'
  if (volume !== undefined && !isBlockSource(volume)) errors.push(invalidField(path, name, detail))
  if (volume === undefined) errors.push(notFoundField(path, name))
  return errors
}
