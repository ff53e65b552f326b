/** Defaults of pods that depend on other fields: requests, pull policies, host ports, volumes without a source. */
import { ensureStruct, type Fields, flag, has, integer, setWhenAbsent, struct, structs, text } from '../fields.ts'
import { isOvercommitAllowed } from '../quantities.ts'

/** Fields of a volume that are no source. */
const volumeNames = new Set(['name'])
const podLevelResources = /^(?:cpu|memory|hugepages-.*)$/

/** Only pods themselves; templates get these when a pod is made of them. */
export function completePod(pod: Fields): void {
  const spec = ensureStruct(pod, 'spec')
  const containers = [...structs(spec, 'containers'), ...structs(spec, 'initContainers')]
  for (const container of containers) completeRequests(struct(container, 'resources'))
  completePodRequests(spec)
  setWhenAbsent(spec, 'enableServiceLinks', true)
  if ((integer(spec, 'terminationGracePeriodSeconds') ?? 0) < 0) spec['terminationGracePeriodSeconds'] = 1
  if (!flag(spec, 'hostNetwork')) return
  for (const port of containers.flatMap((container) => structs(container, 'ports'))) {
    if (!integer(port, 'hostPort')) port['hostPort'] = integer(port, 'containerPort') ?? 0
  }
}

function completeRequests(resources: Fields | undefined): void {
  const limits = struct(resources, 'limits')
  if (resources === undefined || limits === undefined) return
  const requests = { ...limits, ...struct(resources, 'requests') }
  if (Object.keys(requests).length > 0) resources['requests'] = requests
}

/** Limits of the pod as a whole become its requests where no container asks for the resource. */
function completePodRequests(spec: Fields): void {
  const resources = struct(spec, 'resources')
  const limits = struct(resources, 'limits')
  if (resources === undefined || limits === undefined) return
  const asked = new Set(
    structs(spec, 'containers').flatMap((container) =>
      Object.keys(struct(struct(container, 'resources'), 'requests') ?? {}),
    ),
  )
  for (const [resource, limit] of Object.entries(limits)) {
    const leavesItToContainers = isOvercommitAllowed(resource) && asked.has(resource)
    if (podLevelResources.test(resource) && !leavesItToContainers) {
      setWhenAbsent(ensureStruct(resources, 'requests'), resource, limit)
    }
  }
}

export function completeContainer(container: Fields): void {
  if (text(container, 'imagePullPolicy') === '') container['imagePullPolicy'] = pullPolicy(text(container, 'image'))
}

export function completeVolume(volume: Fields): void {
  const hasSource = Object.keys(volume).some((name) => !volumeNames.has(name) && has(volume, name))
  if (!hasSource) volume['emptyDir'] = {}
  const image = struct(volume, 'image')
  if (image !== undefined && text(image, 'pullPolicy') === '') {
    image['pullPolicy'] = pullPolicy(text(image, 'reference'))
  }
}

/** An image that may change under its name is pulled each time. */
function pullPolicy(image: string): 'Always' | 'IfNotPresent' {
  return imageTag(image) === 'latest' ? 'Always' : 'IfNotPresent'
}

/** `latest` where neither a tag nor a digest is named; empty where the name is none. */
function imageTag(image: string): string {
  const [name = '', digest] = image.split('@')
  const tag = /:([\w][\w.-]{0,127})$/.exec(name.slice(name.lastIndexOf('/') + 1))?.[1]
  if (!isImageName(name)) return ''
  return tag ?? (digest === undefined ? 'latest' : '')
}

function isImageName(name: string): boolean {
  const path = name.replace(/:[\w][\w.-]{0,127}$/, '').split('/')
  const [host = '', ...rest] = path
  const components = rest.length > 0 && /[.:]|^localhost$/.test(host) ? rest : path
  return components.every((component) => /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/.test(component))
}
