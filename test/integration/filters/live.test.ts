/** Watches that run: settings that change, clients and servers that go; and which request gets which filters. */
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import type { ObjectFilter } from '../../../src/edge/filters/filter.ts'
import { formats } from '../../contract/walker/formats.ts'
import { endpoint, kubernetes } from '../../worlds/filters-objects.ts'
import { jsonEvent as event, FilterWorld } from '../../worlds/filters-world.ts'

const services = '/api/v1/services'
const slices = '/apis/discovery.k8s.io/v1/endpointslices'
const kubeProxy = 'system:kube-proxy'
const json = 'application/json'

describe('changes of settings', () => {
  it.each([
    ['JSON', json, formats[0]],
    ['protobuf', 'application/vnd.kubernetes.protobuf;stream=watch', formats[1]],
  ])('end the watches they concern with 410 Expired in %s', async (_name, contentType, format) => {
    const world = new FilterWorld()
    const watch = await world.watch(`${services}?watch=1`, 'node', contentType)
    const other = await world.watch('/api/v1/pods?watch=1', 'node', contentType)
    world.filters.configure({ disabled: ['masterservice'] })
    const bytes = await buffer(watch.filtered.body)
    const { type, object } = format?.walker.readEvent(contentType === json ? bytes : bytes.subarray(4)) ?? {}
    expect(type).toBe('ERROR')
    expect(format?.decode(object ?? bytes)).toMatchObject({
      kind: 'Status',
      code: 410,
      reason: 'Expired',
      status: 'Failure',
    })
    expect(watch.upstream.destroyed).toBe(true)
    expect(other.filtered.body.readableEnded || other.upstream.destroyed).toBe(false)
    expect(await world.counted('causeway_edge_filter_watches')).toBe(1)
    expect(await world.counted('causeway_edge_filter_watches_expired_total')).toBe(1)
  })

  it('send the events that are complete first and never half of one', async () => {
    const world = new FilterWorld()
    const watch = await world.watch(`${services}?watch=1`, 'node', json)
    watch.upstream.write(event('ADDED', kubernetes))
    watch.upstream.write(event('MODIFIED', kubernetes).subarray(0, 40))
    await once(watch.filtered.body, 'readable')
    world.filters.configure({ disabled: ['masterservice'] })
    const lines = (await buffer(watch.filtered.body)).toString().trimEnd().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(['ADDED', 'ERROR'])
  })

  it('reach a watch whose filter was disabled and one that began without an endpoint', async () => {
    const world = new FilterWorld({ settings: { disabled: ['masterservice'] } })
    const disabled = await world.watch(`${services}?watch=1`, 'node', json)
    disabled.upstream.write(event('ADDED', kubernetes))
    world.endpoint = undefined
    world.filters.endpointChanged()
    const early = await world.watch('/api/v1/pods?watch=1', 'node', json)
    world.filters.configure({ disabled: [] })
    const lines = (await buffer(disabled.filtered.body)).toString().trimEnd().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toBe(event('ADDED', kubernetes).toString().trimEnd())
    expect(early.filtered.body.destroyed).toBe(false)
    world.endpoint = endpoint
    world.filters.endpointChanged()
    expect((await buffer(early.filtered.body)).toString()).toContain('"code":410')
  })

  it('that change nothing end nothing', async () => {
    const world = new FilterWorld()
    const watch = await world.watch(`${services}?watch=1`, 'node', json)
    world.filters.configure({ disabled: ['serviceenv'], moreComponents: { masterservice: ['coredns'] } })
    world.filters.endpointChanged()
    watch.upstream.end(event('ADDED', kubernetes))
    expect((await buffer(watch.filtered.body)).toString()).not.toContain('ERROR')
  })
})

describe('a watch', () => {
  it('leaves upstream when its client goes', async () => {
    const world = new FilterWorld()
    const { upstream, filtered } = await world.watch(`${services}?watch=1`, 'node', json)
    filtered.body.destroy()
    await once(upstream, 'close')
    expect(upstream.destroyed).toBe(true)
    expect(await world.counted('causeway_edge_filter_watches')).toBe(0)
  })

  it('is cut, not ended, when upstream is', async () => {
    for (const error of [new Error('link lost'), undefined]) {
      const { upstream, filtered } = await new FilterWorld().watch(`${services}?watch=1`, 'node', json)
      upstream.destroy(error)
      await expect(buffer(filtered.body)).rejects.toThrow(error?.message ?? 'the watch was cut upstream')
    }
  })

  it('holds its upstream back when its client does not read', async () => {
    const { upstream, filtered } = await new FilterWorld().watch(`${services}?watch=1`, 'node', json)
    let sent = 0
    while (sent < 10_000 && upstream.write(event('ADDED', kubernetes))) {
      sent++
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(sent).toBeLessThan(10_000)
    filtered.body.destroy()
  })
})

describe('the choice of filters', () => {
  const plain: ObjectFilter = {
    name: 'plain',
    resources: [{ apiVersion: 'v1', resource: 'services', kind: 'Service' }],
    verbs: ['list'],
    components: ['kube-proxy'],
    decide: () => 'keep',
  }

  it.each([
    [services, 'node', ['masterservice']],
    ['/api/v1/namespaces/default/services/kubernetes', 'node', ['masterservice']],
    ['/api/v1/watch/services', 'node', ['masterservice']],
    [slices, kubeProxy, ['forwardkubesvctraffic']],
    ['/api/v1/configmaps', 'node', ['inclusterconfig']],
    ['/api/v1/pods?fieldSelector=spec.nodeName%3Dx', 'node', ['serviceenv']],
    [slices, 'node', undefined],
    [services, kubeProxy, undefined],
    ['/api/v2/services', 'node', undefined],
    ['/apis/discovery.k8s.io/v1beta1/endpointslices', kubeProxy, undefined],
    ['/api/v1/namespaces/default/pods/x/log', 'node', undefined],
    ['/apis/other.example/v1/services', 'node', undefined],
    ['/version', 'node', undefined],
  ])('for %s by %s is %j', async (path, user, names) => {
    expect((await new FilterWorld().choose(path, user))?.names).toEqual(names)
  })

  it('goes by the User-Agent of those whose identity says nothing, and by the settings', async () => {
    const world = new FilterWorld()
    expect((await world.choose(services, '', 'kubelet/v1.36'))?.names).toEqual(['masterservice'])
    expect((await world.choose(slices, 'system:serviceaccount:a:b', 'kube-proxy/v1.36'))?.names).toHaveLength(1)
    expect(await world.choose(services, '', 'coredns/1')).toBeUndefined()
    world.filters.configure({ disabled: [], moreComponents: { masterservice: ['coredns'] } })
    expect((await world.choose(services, '', 'coredns/1'))?.names).toEqual(['masterservice'])
  })

  it('keeps the order of the list and knows the verbs of each', async () => {
    const world = new FilterWorld({ filters: [plain, { ...plain, name: 'second', verbs: ['get', 'list'] }] })
    expect((await world.choose(services, kubeProxy))?.names).toEqual(['plain', 'second'])
    expect((await world.choose('/api/v1/namespaces/a/services/b', kubeProxy))?.names).toEqual(['second'])
    expect(await world.choose(`${services}?watch=true`, kubeProxy)).toBeUndefined()
  })
})
