import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { parseRequestInfo } from '../../kube/request-info.ts'
import { EMPTY_QUERY } from '../../kube/request-query.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { MemoryStore } from '../storage/memory-store.ts'
import { createMetrics } from './metrics.ts'
import { addObjectMetrics } from './object-metrics.ts'
import { measuredStore } from './store-metrics.ts'

const query = EMPTY_QUERY
const info = parseRequestInfo({ method: 'GET', path: '/api/v1/namespaces/n/pods/x' })
const pod = 'verb="GET",group="",version="v1",resource="pods",subresource="",scope="resource",dry_run=""'

describe('the metrics of the API server', () => {
  it('count requests by their answer, and those without one', async () => {
    const registry = new Registry()
    const { requests } = createMetrics(registry)
    requests.ended({ info, query, answer: { status: 200, bodyBytes: 1_500 } }, 0.03)
    requests.ended({ info, query, answer: { status: 200 } }, 0.03)
    requests.ended({ info, query, answer: { status: 404, bodyBytes: 10 } }, 70)
    requests.ended({ info, query }, 1)
    const text = await registry.metrics()
    expect(text).toContain(`apiserver_request_total{${pod},code="200"} 2`)
    expect(text).toContain(`apiserver_request_total{${pod},code="404"} 1`)
    expect(text).toContain(`apiserver_request_total{${pod},code="0"} 1`)
    expect(text).toContain(`apiserver_request_duration_seconds_bucket{le="0.05",${pod}} 2`)
    expect(text).toContain(`apiserver_request_duration_seconds_count{${pod}} 4`)
    expect(text).toContain(`apiserver_response_sizes_count{${pod}} 2`)
  })

  it('tell what is under way', async () => {
    const registry = new Registry()
    const { requests } = createMetrics(registry)
    requests.inFlight('mutating', 3)
    const ended = requests.longRunning(info, query)
    expect(await registry.metrics()).toContain(`apiserver_longrunning_requests{${pod}} 1`)
    ended()
    const text = await registry.metrics()
    expect(text).toContain(`apiserver_longrunning_requests{${pod}} 0`)
    expect(text).toContain('apiserver_current_inflight_requests{request_kind="mutating"} 3')
  })

  it('name only users that everybody has', async () => {
    const registry = new Registry()
    const { access } = createMetrics(registry)
    access.authenticated('success', 'admin')
    access.authenticated('success', 'zz-made-up')
    access.authenticated('error')
    access.authorized('no-opinion')
    const text = await registry.metrics()
    expect(text).toContain('authenticated_user_requests{username="admin"} 1')
    expect(text).toContain('authenticated_user_requests{username="other"} 1')
    expect(text).toContain('authentication_attempts{result="success"} 2')
    expect(text).toContain('authentication_attempts{result="error"} 1')
    expect(text).toContain('authorization_attempts_total{result="no-opinion"} 1')
    expect(text).not.toContain('zz-made-up')
  })

  it('count the objects of each resource once, by the group in which they are kept', async () => {
    const registry = new Registry()
    addObjectMetrics(registry, { collection: (prefix) => ({ size: prefix === 'apps/deployments/' ? 7 : 0 }) })
    const text = await registry.metrics()
    expect(text).toContain('apiserver_resource_objects{group="apps",resource="deployments"} 7')
    expect(text).toContain('apiserver_resource_objects{group="",resource="pods"} 0')
    expect(text).toContain('apiserver_storage_objects{resource="deployments.apps"} 7')
    expect([...text.matchAll(/_resource_objects\{group="\S*",resource="events"/g)]).toHaveLength(1)
    expect(text).not.toContain('selfsubjectaccessreviews')
  })

  it('measure the store, also when it fails', async () => {
    const registry = new Registry()
    const clock = new ManualClock()
    const store = measuredStore(new MemoryStore(clock), clock, registry)
    await store.commit({ conditions: [], writes: [{ type: 'put', key: 'a/b/c', value: Buffer.from('x') }] })
    expect((await store.get('a/b/c')).entry?.value.toString()).toBe('x')
    await store.close()
    await expect(store.list('')).rejects.toThrow()
    const text = await registry.metrics()
    const count = 'causeway_apiserver_store_duration_seconds_count'
    expect(text).toContain(`${count}{operation="commit",result="done"} 1`)
    expect(text).toContain(`${count}{operation="list",result="unavailable"} 1`)
  })
})
