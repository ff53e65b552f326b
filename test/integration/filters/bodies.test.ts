/** Bodies that are compressed, broken, too large or cut; renderings of objects, and objects that a filter drops. */

import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { ObjectFilter } from '../../../src/edge/filters/filter.ts'
import { MAX_HELD_BODY_BYTES } from '../../../src/edge/filters/held-body.ts'
import { masterService } from '../../../src/edge/filters/master-service.ts'
import { COMPRESSION_THRESHOLD_BYTES } from '../../../src/kube/compression.ts'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { encodeJsonLine, encodeLengthDelimited } from '../../../src/kube/watch/frames.ts'
import { formats } from '../../contract/walker/formats.ts'
import { sourceOf, streamOf } from '../../worlds/byte-sources.ts'
import { endpoint, kubernetes, slice } from '../../worlds/filters-objects.ts'
import { arriving, jsonEvent as event, FilterWorld } from '../../worlds/filters-world.ts'

const services = '/api/v1/services'
const slices = '/apis/discovery.k8s.io/v1/endpointslices'
const kubeProxy = 'system:kube-proxy'
const json = 'application/json'
const unfiltered = 'causeway_edge_filter_unfiltered_total'

function serviceList(...more: KubeObject[]): Buffer {
  return Buffer.from(
    JSON.stringify({ kind: 'ServiceList', apiVersion: 'v1', metadata: {}, items: [kubernetes, ...more] }),
  )
}

function bulky(bytes: number): KubeObject {
  return { metadata: { namespace: 'a', name: 'b', annotations: { text: 'x'.repeat(bytes) } }, spec: {} }
}

describe('compressed bodies', () => {
  const large = serviceList(bulky(COMPRESSION_THRESHOLD_BYTES))

  it.each([
    ['gzip', 'gzip'],
    ['deflate, gzip', 'gzip'],
    ['gzip;q=1', ''],
    ['', ''],
  ] as const)('above 128 KiB for a client that accepts %j are sent as %j', async (acceptEncoding, contentEncoding) => {
    const { bytes, filtered } = await new FilterWorld().answer(services, 'node', [large], { acceptEncoding })
    expect(filtered?.contentEncoding).toBe(contentEncoding)
    expect(filtered?.contentLength).toBe(contentEncoding === '' ? bytes.length : undefined)
    const plain = contentEncoding === '' ? bytes : gunzipSync(bytes)
    expect(plain.toString()).toContain(`"clusterIP":"${endpoint.address}"`)
    expect(plain.toString()).toContain('x'.repeat(COMPRESSION_THRESHOLD_BYTES))
  })

  it('up to 128 KiB are sent as they are', async () => {
    const { filtered } = await new FilterWorld().answer(services, 'node', [serviceList()], { acceptEncoding: 'gzip' })
    expect(filtered?.contentEncoding).toBe('')
  })

  it('from upstream are read, also where the client cannot', async () => {
    const { bytes } = await new FilterWorld().answer(services, 'node', [gzipSync(large)], { contentEncoding: 'gzip' })
    expect(JSON.parse(bytes.toString())).toMatchObject({ items: [{ spec: { clusterIP: endpoint.address } }, {}] })
    const watched = await new FilterWorld().answer(
      `${services}?watch=1`,
      'node',
      [gzipSync(event('ADDED', kubernetes))],
      {
        contentEncoding: 'gzip',
      },
    )
    expect(watched.bytes.toString()).toContain(endpoint.address)
  })

  it('that are no gzip break', async () => {
    const answer = new FilterWorld().answer(services, 'node', [Buffer.from('no gzip')], { contentEncoding: 'gzip' })
    await expect(answer).rejects.toThrow('incorrect header check')
  })

  it('of unknown encodings and media types pass, counted and logged', async () => {
    const world = new FilterWorld()
    expect((await world.answer(services, 'node', [large], { contentEncoding: 'br' })).bytes).toEqual(large)
    expect((await world.answer(services, 'node', [large], { contentType: 'application/yaml' })).bytes).toEqual(large)
    expect((await world.answer(services, 'node', [large], { contentType: '' })).bytes).toEqual(large)
    expect(await world.counted(unfiltered, { reason: 'encoding' })).toBe(1)
    expect(await world.counted(unfiltered, { reason: 'media-type' })).toBe(2)
    expect(world.log).toHaveLength(3)
  })
})

describe('broken bodies', () => {
  it.each([services, `${services.replace('v1/', 'v1/namespaces/default/')}/kubernetes`])(
    'of %s pass as they are, counted and logged',
    async (path) => {
      for (const text of ['{"kind":"ServiceList","apiVersion":"v1","items":[{]}', 'no JSON', '[]']) {
        const world = new FilterWorld()
        expect((await world.answer(path, 'node', [Buffer.from(text)], {})).bytes.toString()).toBe(text)
        expect(await world.counted(unfiltered, { reason: 'undecodable' })).toBe(1)
        expect(world.log.join()).toMatch(/"resource":"services","component":"kubelet","reason":"undecodable"/)
      }
    },
  )

  it('that are empty are nothing to complain about', async () => {
    const world = new FilterWorld()
    const { filtered } = await world.answer(services, 'node', [], {})
    expect(filtered).toMatchObject({ status: 200, contentLength: 0 })
    expect(world.log).toEqual([])
  })

  it('do not stop a watch at one broken event, and are logged once a stream', async () => {
    const world = new FilterWorld()
    const broken = '{"type":"ADDED","object":{"kind":"Service","apiVersion":"v1","metadata":[}}\n'
    const chunks = [Buffer.from(broken), Buffer.from(broken), event('ADDED', kubernetes)]
    const { bytes } = await world.answer(`${services}?watch=1`, 'node', chunks, {})
    expect(bytes.toString().startsWith(broken + broken)).toBe(true)
    expect(bytes.toString()).toContain(endpoint.address)
    expect(await world.counted(unfiltered, { reason: 'undecodable' })).toBe(2)
    expect(world.log).toHaveLength(1)
  })

  it('cut a watch that ends inside an event, or with one that nobody reads', async () => {
    const world = new FilterWorld()
    const cut = world.answer(`${services}?watch=1`, 'node', [event('ADDED', kubernetes).subarray(0, 50)], {})
    await expect(cut).rejects.toThrow('watch stream ended inside an event')
    const watch = await world.watch(`${services}?watch=1`, 'node', 'application/vnd.kubernetes.protobuf;stream=watch')
    watch.upstream.write(Buffer.from([0x7f, 0, 0, 0]))
    await expect(buffer(watch.filtered.body)).rejects.toThrow('exceeds the limit')
    expect(watch.upstream.destroyed).toBe(true)
  })
})

describe('the limits of memory', () => {
  it('let a body pass that is too large for one', async () => {
    const world = new FilterWorld()
    const piece = Buffer.alloc(4 * 1024 * 1024, 0x20)
    const chunks = Array.from({ length: MAX_HELD_BODY_BYTES / piece.length }, () => piece)
    const { bytes, filtered } = await world.answer(services, 'node', [serviceList(), ...chunks], {})
    expect(filtered).toMatchObject({ contentEncoding: '', contentLength: undefined })
    expect(bytes.equals(Buffer.concat([serviceList(), ...chunks]))).toBe(true)
    expect(await world.counted(unfiltered, { reason: 'too-large' })).toBe(1)
  })

  it.each(['', 'gzip'])(
    'leave upstream when the client of a body goes that is too large (%j)',
    async (contentEncoding) => {
      const world = new FilterWorld()
      const head = { status: 200, contentType: json, contentEncoding, acceptEncoding: 'gzip' }
      const upstream = new PassThrough()
      const running = (await world.choose(services, 'node'))?.begin(head)?.run(sourceOf(upstream))
      const bytes = Buffer.alloc(MAX_HELD_BODY_BYTES + 1)
      // The end of it never comes.
      upstream.write(contentEncoding === '' ? bytes : gzipSync(bytes, { level: 1 }).subarray(0, -4))
      const filtered = await running
      const body = streamOf(filtered?.body)
      body.resume()
      body.destroy()
      await once(upstream, 'close')
      await expect.poll(() => world.filters.heldBytes).toBe(0)
    },
  )

  it('refuse a body where others take what there is, until they are gone', async () => {
    const document = serviceList()
    const world = new FilterWorld({ maxHeldBytes: document.length })
    const plan = await world.choose(services, '', 'kubelet/v1.36')
    const head = { status: 200, contentType: json, contentEncoding: '', acceptEncoding: '' }
    const first = await plan?.begin(head)?.run(sourceOf(arriving([document])))
    const upstream = arriving([document])
    await expect(plan?.begin(head)?.run(sourceOf(upstream))).rejects.toMatchObject({ status: { code: 429 } })
    expect(upstream.destroyed).toBe(true)
    expect(await world.counted('causeway_edge_filter_refused_total')).toBe(1)
    // The kubelet itself has room of its own.
    expect((await world.answer(services, 'node', [document], {})).bytes.toString()).toContain(endpoint.address)
    const left = streamOf(first?.body).destroy()
    await once(left, 'close')
    expect(world.filters.heldBytes).toBe(0)
    const again = await plan?.begin(head)?.run(sourceOf(arriving([document])))
    expect((await buffer(streamOf(again?.body))).toString()).toContain(endpoint.address)
    expect(world.filters.heldBytes).toBe(0)
  })

  it('give back what a body held that broke', async () => {
    const world = new FilterWorld()
    const upstream = new PassThrough()
    const plan = await world.choose(services, 'node')
    const running = plan
      ?.begin({ status: 200, contentType: json, contentEncoding: '', acceptEncoding: '' })
      ?.run(sourceOf(upstream))
    upstream.write(serviceList())
    upstream.destroy(new Error('link lost'))
    await expect(running).rejects.toThrow('link lost')
    expect(world.filters.heldBytes).toBe(0)
  })
})

describe.each(formats)('dropped objects in $name', ({ name, encode, decode, walker }) => {
  const contentType = name === 'JSON' ? json : 'application/vnd.kubernetes.protobuf'
  const frame = name === 'JSON' ? encodeJsonLine : encodeLengthDelimited
  const other = slice('default', 'kubernetes-v6', 'kubernetes', 'IPv6')
  const mine = slice('default', 'web', 'web')

  it('are not in lists, also where that leaves none', async () => {
    const list = (items: KubeObject[]) =>
      encode({
        kind: 'EndpointSliceList',
        apiVersion: 'discovery.k8s.io/v1',
        metadata: { resourceVersion: '5' },
        items,
      })
    const world = new FilterWorld()
    const some = await world.answer(slices, kubeProxy, [list([other, mine, other])], { contentType })
    expect(decode(some.bytes)).toEqual(decode(list([mine])))
    const none = await world.answer(slices, kubeProxy, [list([other])], { contentType })
    expect(decode(none.bytes)).toMatchObject({ metadata: { resourceVersion: '5' }, items: [] })
    expect(await world.counted('causeway_edge_filter_objects_total', { outcome: 'dropped' })).toBe(3)
  })

  it('are not found', async () => {
    const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes-v6'
    const { bytes, filtered } = await new FilterWorld().answer(path, kubeProxy, [encode(other)], { contentType })
    expect(filtered).toMatchObject({ status: 404, contentLength: bytes.length })
    expect(decode(bytes)).toMatchObject({
      kind: 'Status',
      code: 404,
      message: 'endpointslices.discovery.k8s.io "kubernetes-v6" not found',
    })
  })

  it('are no bookmarks or errors, whatever a filter drops', async () => {
    const all: ObjectFilter = { ...masterService, decide: () => 'drop' }
    const bookmark = encode({ kind: 'Service', apiVersion: 'v1', metadata: { resourceVersion: '9' } })
    const events = (['BOOKMARK', 'ERROR'] as const).map((type) => frame(walker.writeEvent(type, bookmark)))
    const world = new FilterWorld({ filters: [all] })
    const { bytes } = await world.answer(`${services}?watch=1`, 'node', events, { contentType })
    expect(bytes).toEqual(Buffer.concat(events))
  })

  it('are DELETED in a watch, as they are', async () => {
    const object = encode(other)
    const events = (['ADDED', 'MODIFIED', 'DELETED'] as const).map((type) => frame(walker.writeEvent(type, object)))
    const { bytes } = await new FilterWorld().answer(`${slices}?watch=1`, kubeProxy, events, { contentType })
    const deleted = Buffer.from(frame(walker.writeEvent('DELETED', object)))
    expect(bytes).toEqual(Buffer.concat([deleted, deleted, deleted]))
  })
})

describe('renderings of objects', () => {
  const row = { cells: ['kubernetes', '10.96.0.1'], object: kubernetes }
  const table = { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata: {}, columnDefinitions: [], rows: [row] }
  const metadata = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: kubernetes.metadata ?? {} }
  const metadataList = { ...metadata, kind: 'PartialObjectMetadataList', metadata: {}, items: [metadata] }

  it('pass a list as they are', async () => {
    for (const object of [table, metadataList]) {
      const document = Buffer.from(JSON.stringify(object))
      expect((await new FilterWorld().answer(services, 'node', [document], {})).bytes).toEqual(document)
    }
    const protobuf = formats[1]?.encode(metadataList) ?? Buffer.alloc(0)
    const head = { contentType: 'application/vnd.kubernetes.protobuf' }
    expect((await new FilterWorld().answer(services, 'node', [protobuf], head)).bytes).toEqual(protobuf)
  })

  it('pass a watch as they are', async () => {
    const body = Buffer.concat([event('ADDED', table), event('MODIFIED', metadata)])
    expect((await new FilterWorld().answer(`${services}?watch=1`, 'node', [body], {})).bytes).toEqual(body)
  })
})
