/**
 * Subresources that lead to a machine: logs, exec, attach, port forwarding, proxies. Where a request must go is worked
 * out here, with the refusals that need no machine; going there is the connector's part.
 */

import { integerParameter } from '../../../kube/collection/query-values.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import type { ResourceRequest } from '../../../kube/request-info.ts'
import type { RequestQuery } from '../../../kube/request-query.ts'
import { type FieldError, forbiddenField, invalidField } from '../../../kube/status/field-error.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { forbidden, invalid } from '../../../kube/status/resource-errors.ts'
import { respond } from '../../answers/respond.ts'
import { NOT_NEGATIVE } from '../../kinds/checks.ts'
import { struct, structs, text } from '../../kinds/fields.ts'
import { builtIn } from '../../objects/resource.ts'
import type { RequestContext } from '../../request/handler.ts'
import { kubeletQuery } from './kubelet-query.ts'
import { type Destination, noWayTo } from './node-connector.ts'
import type { SubresourceParts } from './parts.ts'
import { nodeProxy, podProxy, serviceProxy } from './proxy.ts'

const pods = builtIn('v1', 'pods')
const nodes = builtIn('v1', 'nodes')

/** API servers spell the number in refusals of log options, and write `zero` elsewhere. */
const positive = 'must be greater than 0'

export async function serveConnection(
  parts: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
): Promise<void> {
  const destination = await destinationOf(parts, context, info)
  // Nothing runs yet, so nothing was logged.
  if (destination === undefined) return await respond(context, 204, {}, Buffer.alloc(0))
  if (parts.nodes === undefined) throw noWayTo(describe(destination))
  await parts.nodes.connect(context, destination)
}

async function destinationOf(
  parts: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
): Promise<Destination | undefined> {
  if (info.subresource === 'proxy') {
    const proxies = { pods: podProxy, services: serviceProxy, nodes: nodeProxy }
    return await proxies[info.resource as keyof typeof proxies](parts, context, info)
  }
  const isLog = info.subresource === 'log'
  if (!isLog) checkMayCreate(parts, context, info)
  if (isLog) checkLogOptions(context.query, info.name)
  const pod = (await parts.reader.get(pods, info.namespace, info.name, context)).object()
  const path = kubeletPath(pod, info, context.query.first('container') ?? '')
  const node = text(struct(pod, 'spec'), 'nodeName')
  if (node === '') {
    if (isLog) return undefined
    throw badRequest(`pod ${info.name} does not have a host assigned`)
  }
  await parts.reader.get(nodes, '', node, context)
  return { to: 'kubelet', node, path, query: kubeletQuery(info.subresource, context.query) }
}

/**
 * A WebSocket opens with a GET, which whoever may only read is let through with. What follows runs commands or reaches
 * ports, so it takes the right to create, however it is opened.
 */
function checkMayCreate({ authorizer }: SubresourceParts, { user }: RequestContext, info: ResourceRequest): void {
  if (info.verb === 'create') return
  const { verdict, reason } = authorizer.authorize({ ...info, user, verb: 'create' })
  if (verdict !== 'allow') throw forbidden({ group: info.apiGroup, resource: info.resource }, info.name, reason)
}

/** The options of `pods/log` that make no sense. */
function checkLogOptions(query: RequestQuery, podName: string): void {
  const errors: FieldError[] = []
  const [tailLines, limitBytes, sinceSeconds] = ['tailLines', 'limitBytes', 'sinceSeconds'].map((name) =>
    integerParameter(query, name),
  )
  if (tailLines !== undefined && tailLines < 0) errors.push(invalidField('tailLines', tailLines, NOT_NEGATIVE))
  if (limitBytes !== undefined && limitBytes < 1) errors.push(invalidField('limitBytes', limitBytes, positive))
  if (sinceSeconds !== undefined && query.has('sinceTime')) {
    errors.push(forbiddenField('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'))
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(invalidField('sinceSeconds', sinceSeconds, positive))
  }
  if (errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, podName, errors)
}

function kubeletPath(pod: KubeObject, { namespace, name, subresource }: ResourceRequest, container: string): string {
  if (subresource === 'portforward') return `/portForward/${namespace}/${name}`
  const word = subresource === 'log' ? 'containerLogs' : subresource
  return `/${word}/${namespace}/${name}/${containerOf(pod, container)}`
}

/** The container that is meant; only a pod with one container may leave it open. */
function containerOf(pod: KubeObject, wanted: string): string {
  const spec = struct(pod, 'spec')
  const podName = pod.metadata?.name ?? ''
  const namesIn = (list: string): string[] => structs(spec, list).map((container) => text(container, 'name'))
  const main = namesIn('containers')
  const all = [...namesIn('initContainers'), ...main, ...namesIn('ephemeralContainers')]
  if (wanted !== '') {
    if (all.includes(wanted)) return wanted
    throw badRequest(`container ${wanted} is not valid for pod ${podName}`)
  }
  const [only, ...others] = main
  if (only === undefined) throw badRequest(`a container name must be specified for pod ${podName}`)
  if (others.length === 0) return only
  throw badRequest(`a container name must be specified for pod ${podName}, choose one of: [${all.join(' ')}]`)
}

function describe(destination: Destination): string {
  return destination.to === 'kubelet' ? `node ${destination.node}` : `address ${destination.host}`
}
