import { afterEach, expect, it } from 'vitest'
import { type ObjectServer, startObjectServer } from '../../../../test/worlds/object-server.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import type { Item } from '../../objects/item.ts'
import { builtIn } from '../../objects/resource.ts'
import { anonymousUser } from '../../request/user.ts'
import type { AdmissionPlugin } from '../admission.ts'
import { deleteItems, MAX_PARALLEL_COLLECTION_DELETES } from './delete-collection.ts'
import type { WriteRequest } from './write-request.ts'

const configMaps = builtIn('v1', 'configmaps')
let server: ObjectServer

afterEach(() => server.stop())

async function started(count: number, plugins: AdmissionPlugin[] = []): Promise<Item[]> {
  server = await startObjectServer(() => plugins)
  for (let index = 0; index < count; index++) {
    await server.create(configMaps, { metadata: { namespace: index % 2 === 0 ? 'a' : 'b', name: `c${index}` } })
  }
  return present()
}

const present = (): Item[] => server.cache.collection(configMaps.keyPrefix).list(configMaps.keyPrefix)

function request(more: Partial<WriteRequest> = {}): WriteRequest {
  const own = { warnings: new Set<string>(), bodyBytes: 0, hasDefaults: false, dryRun: false, subresource: '' }
  const place = { resource: configMaps, namespace: '', name: '' }
  return { ...place, user: anonymousUser, signal: new AbortController().signal, ...own, ...more }
}

it('deletes each of them, some at a time, in the namespace that it is in', async () => {
  let [underWay, most] = [0, 0]
  const counting: AdmissionPlugin = {
    name: 'Counting',
    async validate({ operation }) {
      if (operation !== 'DELETE') return
      most = Math.max(most, ++underWay)
      await new Promise(setImmediate)
      underWay--
    },
  }
  const items = await started(3 * MAX_PARALLEL_COLLECTION_DELETES, [counting])
  await deleteItems(server.writer, items, request(), {})
  expect(present()).toEqual([])
  expect(most).toBe(MAX_PARALLEL_COLLECTION_DELETES)
})

it('does not mind what somebody else has deleted', async () => {
  const items = await started(4)
  await server.delete(configMaps, 'a', 'c0')
  await deleteItems(server.writer, items, request(), {})
  expect(present()).toEqual([])
})

it('leaves everything where it is to be tried only', async () => {
  const items = await started(4)
  await deleteItems(server.writer, items, request({ dryRun: true }), {})
  expect(present()).toHaveLength(4)
})

it('stops at the first refusal, and when nobody waits any more', async () => {
  const refusing: AdmissionPlugin = {
    name: 'Refusing',
    validate({ operation, name }) {
      if (operation === 'DELETE' && name === 'c0') throw badRequest('not this one')
    },
  }
  const items = await started(100, [refusing])
  await expect(deleteItems(server.writer, items, request(), {})).rejects.toThrow('not this one')
  expect(present().length).toBeGreaterThan(100 - 2 * MAX_PARALLEL_COLLECTION_DELETES)
  const gone = AbortSignal.abort(new Error('gone'))
  await expect(deleteItems(server.writer, present(), request({ signal: gone }), {})).rejects.toThrow('gone')
})
