/** `componentstatuses`: deprecated, and still what `kubectl get cs` asks. Only what this server knows is claimed. */

import { readCollectionOptions } from '../../../kube/collection/options.ts'
import type { KubeList, KubeObject } from '../../../kube/objects.ts'
import type { ResourceRequest } from '../../../kube/request-info.ts'
import { matchesFields } from '../../../kube/selectors/field.ts'
import { matchesLabels } from '../../../kube/selectors/label.ts'
import { notFound } from '../../../kube/status/resource-errors.ts'
import type { RequestContext } from '../../request/handler.ts'
import { Answer } from './answer.ts'
import type { SubresourceParts } from './parts.ts'
import { kindOf, methodNotAllowed } from './places.ts'

const componentStatusKind = kindOf('v1', 'ComponentStatus')
const storeName = 'etcd-0'
/** Components that register nowhere, so that a server can only guess at their addresses. */
const strangers = ['controller-manager', 'scheduler']

export async function serveComponentStatuses(
  parts: SubresourceParts,
  context: RequestContext,
  info: ResourceRequest,
): Promise<void> {
  const { verb, name } = info
  const nowMs = parts.clock.nowMs()
  if (verb === 'get') {
    const answer = Answer.forObject(context, nowMs)
    const found = (await componentStatuses(parts)).find((status) => status.metadata?.name === name)
    if (found === undefined) throw notFound({ group: '', resource: 'componentstatus' }, name)
    return await answer.send(200, found, componentStatusKind)
  }
  if (verb !== 'list') throw methodNotAllowed()
  const answer = Answer.forList(context, nowMs)
  const { labels, fields } = readCollectionOptions({ info, query: context.query }, 'ComponentStatus', false)
  const selected = (await componentStatuses(parts)).filter(
    ({ metadata }) =>
      matchesLabels(labels, {}) &&
      matchesFields(fields, (field) => (field === 'metadata.name' ? (metadata?.name ?? '') : '')),
  )
  const items = selected.map(({ kind: _kind, apiVersion: _version, ...rest }) => rest)
  const list: KubeList = { kind: 'ComponentStatusList', apiVersion: 'v1', metadata: {}, items }
  await answer.sendList(list, componentStatusKind)
}

async function componentStatuses({ writer }: SubresourceParts): Promise<KubeObject[]> {
  const store = await writer.parts.store.revision().then(
    () => ({ type: 'Healthy', status: 'True', message: 'ok' }),
    (error: Error) => ({ type: 'Healthy', status: 'False', error: error.message }),
  )
  return [componentStatus(storeName, { conditions: [store] }), ...strangers.map((name) => componentStatus(name, {}))]
}

/** Without a condition kubectl shows `Unknown`; a condition that is unknown it would show as `Unhealthy`. */
function componentStatus(name: string, known: { conditions?: object[] }): KubeObject {
  return { kind: 'ComponentStatus', apiVersion: 'v1', metadata: { name }, ...known }
}
