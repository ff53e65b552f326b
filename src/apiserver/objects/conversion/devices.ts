/** resource.k8s.io: v1beta1 wraps what v1 has plain (the device of a slice), and has plain what v1 wraps (a request). */
import type { KubeObject } from '../../../kube/objects.ts'
import { type Fields, has, struct, structs } from '../../kinds/fields.ts'

const exactFields = [
  'deviceClassName',
  'selectors',
  'allocationMode',
  'count',
  'adminAccess',
  'tolerations',
  'capacity',
]

export function claimToV1(claim: KubeObject): KubeObject {
  return changed(claim, ['spec', 'devices'], 'requests', wrapRequest)
}

export function claimToV1beta1(claim: KubeObject): KubeObject {
  return changed(claim, ['spec', 'devices'], 'requests', unwrapRequest)
}

export function templateToV1(template: KubeObject): KubeObject {
  return changed(template, ['spec', 'spec', 'devices'], 'requests', wrapRequest)
}

export function templateToV1beta1(template: KubeObject): KubeObject {
  return changed(template, ['spec', 'spec', 'devices'], 'requests', unwrapRequest)
}

export function sliceToV1(slice: KubeObject): KubeObject {
  return changed(slice, ['spec'], 'devices', ({ basic: _basic, ...device }, given) => ({
    ...device,
    ...struct(given, 'basic'),
  }))
}

export function sliceToV1beta1(slice: KubeObject): KubeObject {
  return changed(slice, ['spec'], 'devices', ({ name, ...basic }) => ({ name, basic }))
}

function wrapRequest(request: Fields): Fields {
  // A name that v1beta1 prints because it must, though it is empty, does not ask for a device.
  const isExact = ([name, value]: [string, unknown]): boolean =>
    exactFields.includes(name) && has(request, name) && value !== '' && value !== 0
  const exactly = Object.fromEntries(Object.entries(request).filter(isExact))
  const rest = Object.fromEntries(Object.entries(request).filter(([name]) => !exactFields.includes(name)))
  return Object.keys(exactly).length === 0 ? rest : { ...rest, exactly }
}

function unwrapRequest({ exactly: _exactly, ...rest }: Fields, request: Fields): Fields {
  return { ...rest, ...struct(request, 'exactly') }
}

/** A copy in which every member of the list at this path is another one. */
function changed(
  object: Fields,
  path: readonly string[],
  list: string,
  change: (item: Fields, same: Fields) => Fields,
): Fields {
  const [step, ...rest] = path
  if (step === undefined) {
    return has(object, list) ? { ...object, [list]: structs(object, list).map((item) => change(item, item)) } : object
  }
  const inner = struct(object, step)
  return inner === undefined ? object : { ...object, [step]: changed(inner, rest, list, change) }
}
