/** Where `proxy` of pods, services and nodes leads. Names come as `name`, `name:port` or `scheme:name:port`. */

import { isIPv4, isIPv6 } from 'node:net'
import type { ResourceRequest } from '../../../kube/request-info.ts'
import { serviceUnavailable } from '../../../kube/status/availability-errors.ts'
import { goQuote } from '../../../kube/status/go-text.ts'
import { isNotFound } from '../../../kube/status/predicates.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { notFound } from '../../../kube/status/resource-errors.ts'
import { type Fields, integer, struct, structs, text } from '../../kinds/fields.ts'
import { builtIn } from '../../objects/resource.ts'
import type { RequestContext } from '../../request/handler.ts'
import type { Destination } from './node-connector.ts'
import type { SubresourceParts } from './parts.ts'

const pods = builtIn('v1', 'pods')
const services = builtIn('v1', 'services')
const endpoints = builtIn('v1', 'endpoints')
const nodes = builtIn('v1', 'nodes')

interface ProxyTarget {
  readonly scheme: 'http' | 'https'
  readonly name: string
  readonly port: string
}

export async function podProxy(
  { reader }: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
): Promise<Destination> {
  const { scheme, name, port } = readTarget(info, 'pod')
  const pod = (await reader.get(pods, info.namespace, name, context)).object()
  const declared = structs(struct(pod, 'spec'), 'containers').flatMap((container) => structs(container, 'ports'))
  const usedPort = port === '' ? String(integer(declared[0], 'containerPort') ?? '') : port
  const [first] = structs(struct(pod, 'status'), 'podIPs')
  const host = text(first, 'ip')
  if (!isReachable(host)) throw badRequest('address not allowed')
  return { to: 'address', scheme, host, port: usedPort, path: restOfPath(info), query: context.query.raw }
}

export async function serviceProxy(
  { reader }: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
): Promise<Destination> {
  const { scheme, name, port } = readTarget(info, 'service')
  const portName = /^[0-9]+$/.test(port) ? await namedPort(reader, context, info.namespace, name, port) : port
  const subsets = await subsetsOf(reader, context, info.namespace, name)
  if (subsets.length === 0) throw serviceUnavailable(`no endpoints available for service ${goQuote(name)}`)
  for (const subset of subsets) {
    const match = structs(subset, 'ports').find((candidate) => text(candidate, 'name') === portName)
    const address = structs(subset, 'addresses').find((candidate) => struct(candidate, 'targetRef')?.['kind'] === 'Pod')
    if (match === undefined || address === undefined) continue
    const host = text(address, 'ip')
    return {
      to: 'address',
      scheme,
      host,
      port: String(integer(match, 'port') ?? ''),
      path: restOfPath(info),
      query: context.query.raw,
    }
  }
  throw serviceUnavailable(`no endpoints available for service ${goQuote(info.name)}`)
}

/** A service without Endpoints is as good as none, and is called so. */
async function subsetsOf(
  reader: SubresourceParts['reader'],
  context: RequestContext,
  namespace: string,
  name: string,
): Promise<Fields[]> {
  try {
    return structs((await reader.get(endpoints, namespace, name, context)).object(), 'subsets')
  } catch (error) {
    throw isNotFound(error) ? notFound(services.groupResource, name) : error
  }
}

async function namedPort(
  reader: SubresourceParts['reader'],
  context: RequestContext,
  namespace: string,
  name: string,
  port: string,
): Promise<string> {
  const service = (await reader.get(services, namespace, name, context)).object()
  const found = structs(struct(service, 'spec'), 'ports').find(({ port: number }) => number === Number(port))
  if (found === undefined) throw serviceUnavailable(`no service port ${port} found for service ${goQuote(name)}`)
  return text(found, 'name')
}

export async function nodeProxy(
  { reader }: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
): Promise<Destination> {
  const { scheme, name, port } = readTarget(info, 'node')
  await reader.get(nodes, '', name, context)
  if (port === '') return { to: 'kubelet', node: name, path: restOfPath(info), query: context.query.raw }
  return { to: 'address', scheme, host: name, port, path: restOfPath(info), query: context.query.raw }
}

function readTarget(info: ResourceRequest, what: string): ProxyTarget {
  const parts = info.name.split(':')
  const [scheme, name, port] = parts.length === 3 ? parts : ['', ...parts]
  if (parts.length > 3 || !name || !['', 'http', 'https'].includes(scheme ?? '')) {
    throw badRequest(`invalid ${what} request ${goQuote(info.name)}`)
  }
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port: port ?? '' }
}

/** What stands behind `/proxy` in the path. */
function restOfPath({ parts }: ResourceRequest): string {
  return `/${parts.slice(3).join('/')}`
}

/** Global unicast: neither loopback nor link-local, multicast or unspecified. */
function isReachable(address: string): boolean {
  if (isIPv4(address)) return !/^(0\.0\.0\.0$|127\.|169\.254\.|255\.255\.255\.255$|2(2[4-9]|3[0-9])\.)/.test(address)
  return isIPv6(address) && !/^(::1?$|fe[89ab]|ff)/i.test(address)
}
