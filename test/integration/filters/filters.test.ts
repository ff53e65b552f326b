/** Every filter on JSON and on protobuf, in gets, lists and watches, however the bytes arrive. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject, WatchEventType } from '../../../src/kube/objects.ts'
import {
  encodeJsonLine,
  encodeLengthDelimited,
  JsonLineDecoder,
  LengthDelimitedDecoder,
} from '../../../src/kube/watch/frames.ts'
import { type Format, formats, stableText } from '../../contract/walker/formats.ts'
import { field, inject, withContent } from '../../contract/walker/wire.ts'
import { configMap, endpoint, filterCases } from '../../worlds/filters-objects.ts'
import { cutAt, FilterWorld } from '../../worlds/filters-world.ts'

const runs = { numRuns: process.env['CAUSEWAY_LONG'] === '1' ? 2_000 : 25 }
const cuts = fc.array(fc.nat(), { maxLength: 8 })

const mediaTypes: Record<string, string> = {
  JSON: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf',
}

function mediaType(format: Format, isStream = false): string {
  return `${mediaTypes[format.name]}${isStream ? ';stream=watch' : ''}`
}

function listOf(items: readonly KubeObject[]): KubeObject {
  const { apiVersion = '', kind = '' } = items[0] ?? {}
  const untyped = items.map((item) => Object.fromEntries(Object.entries(item).filter(([key]) => !isType(key))))
  return { kind: `${kind}List`, apiVersion, metadata: { resourceVersion: '300' }, items: untyped }
}

function isType(key: string): boolean {
  return key === 'kind' || key === 'apiVersion'
}

function frameOf(format: Format, type: WatchEventType, object: KubeObject): Uint8Array {
  const event = format.walker.writeEvent(type, format.encode(object))
  return format.name === 'JSON' ? encodeJsonLine(event) : encodeLengthDelimited(event)
}

function framesIn(format: Format, bytes: Uint8Array): Uint8Array[] {
  const decoder = format.name === 'JSON' ? new JsonLineDecoder() : new LengthDelimitedDecoder()
  const frames = decoder.push(bytes)
  expect(decoder.end()).toBeUndefined()
  return frames
}

const matrix = filterCases.flatMap((one) => formats.map((format) => ({ ...one, format, name: format.name })))

describe.each(matrix)(
  '$filter on $name',
  ({ filter, collection, user, target, expected, bystanders, route, format }) => {
    const { encode, decode, walker } = format

    function nameOf(object: KubeObject): string {
      const { namespace, name } = object.metadata ?? {}
      return `${collection.replace(/[^/]+$/, `namespaces/${namespace}/$&`)}/${name}`
    }

    function get(object: KubeObject, world = new FilterWorld(), document = encode(object)) {
      return world.answer(nameOf(object), user, [document], { contentType: mediaType(format) })
    }

    it('edits its target in a get, and nothing else', async () => {
      const world = new FilterWorld()
      expect(stableText(decode((await get(target, world)).bytes))).toBe(stableText(decode(encode(expected))))
      expect(await world.counted('causeway_edge_filter_objects_total', { filter, outcome: 'edited' })).toBe(1)
      for (const bystander of bystanders) expect((await get(bystander)).bytes).toEqual(encode(bystander))
    })

    it('leaves what it has edited as it is', async () => {
      const once = (await get(target)).bytes
      expect((await get(target, new FilterWorld(), once)).bytes).toEqual(once)
    })

    it('does nothing while there is no endpoint or when it is disabled', async () => {
      const world = new FilterWorld()
      world.endpoint = undefined
      expect((await get(target, world)).bytes).toEqual(encode(target))
      const disabled = new FilterWorld({ settings: { disabled: [filter] } })
      expect((await get(target, disabled)).filtered).toBeUndefined()
    })

    it('keeps the bytes of all other objects of a list', async () => {
      const document = encode(listOf([...bystanders, target, ...bystanders]))
      await fc.assert(
        fc.asyncProperty(cuts, async (points) => {
          const head = { contentType: mediaType(format) }
          const { bytes, filtered } = await new FilterWorld().answer(collection, user, cutAt(document, points), head)
          expect(filtered?.contentLength).toBe(bytes.length)
          expect(stableText(decode(bytes))).toBe(
            stableText(decode(encode(listOf([...bystanders, expected, ...bystanders])))),
          )
          const [before, after] = [walker.items(document), walker.items(bytes)].map((items) =>
            items.map((item) => Buffer.from(item.bytes).toString('latin1')),
          )
          expect(after?.toSpliced(bystanders.length, 1)).toEqual(before?.toSpliced(bystanders.length, 1))
        }),
        runs,
      )
    })

    it('passes a list without its target as the same bytes', async () => {
      const document = encode(listOf(bystanders))
      const { bytes } = await new FilterWorld().answer(collection, user, [document], { contentType: mediaType(format) })
      expect(bytes).toEqual(document)
    })

    it('edits the events of its target in a watch and in a streaming list, and passes bookmarks and errors', async () => {
      const bookmark: KubeObject = {
        kind: target.kind ?? '',
        apiVersion: target.apiVersion ?? '',
        metadata: { resourceVersion: '99', annotations: { 'k8s.io/initial-events-end': 'true' } },
      }
      const expired: KubeObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 410 }
      const before: [WatchEventType, KubeObject][] = [
        ...bystanders.map((object): [WatchEventType, KubeObject] => ['ADDED', object]),
        ['ADDED', target],
        ['BOOKMARK', bookmark],
        ['MODIFIED', target],
        ['DELETED', target],
        ['ERROR', expired],
      ]
      const body = Buffer.concat(before.map(([type, object]) => frameOf(format, type, object)))
      const expectedEvents = before.map(
        ([type, object]) => `${type} ${stableText(decode(encode(object === target ? expected : object)))}`,
      )
      await fc.assert(
        fc.asyncProperty(cuts, async (points) => {
          const path = `${collection}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true`
          const head = { contentType: mediaType(format, true), acceptEncoding: 'gzip' }
          const { bytes, filtered } = await new FilterWorld().answer(path, user, cutAt(body, points), head)
          expect(filtered).toMatchObject({ status: 200, contentEncoding: '', contentLength: undefined })
          const frames = framesIn(format, bytes)
          const events = frames.map((frame) => walker.readEvent(frame))
          expect(events.map(({ type, object }) => `${type} ${stableText(decode(object))}`)).toEqual(expectedEvents)
          const untouched = framesIn(format, body).filter((_frame, index) => before[index]?.[1] !== target)
          expect(frames.filter((_frame, index) => before[index]?.[1] !== target)).toEqual(untouched)
        }),
        runs,
      )
    })

    it('keeps fields that nobody knows, around and beside those it edits', async () => {
      const number = fc.integer({ min: 200, max: 10_000 })
      await fc.assert(
        fc.asyncProperty(
          number,
          fc.string({ minLength: 12, maxLength: 20, unit: 'grapheme-ascii' }),
          fc.nat(9),
          async (key, text, at) => {
            const isJson = format.name === 'JSON'
            const document = isJson
              ? Buffer.from(JSON.stringify(withUnknown(target, `x${key}`, text)))
              : withContent(encode(target), (content) => inject(content, route, field(key, text), at))
            const { bytes } = await get(target, new FilterWorld(), document)
            const left = isJson ? withoutUnknown(JSON.parse(bytes.toString()), `x${key}`) : decode(bytes)
            expect(stableText(left)).toBe(stableText(decode(encode(expected))))
            const place = isJson ? Buffer.from(JSON.stringify(text)) : field(key, text)
            // What is replaced as a whole, the endpoints of a slice, has nothing of its own to keep.
            const lost =
              isJson && filter === 'forwardkubesvctraffic'
                ? occurrences(Buffer.from(JSON.stringify(withUnknown(target['endpoints'], `x${key}`, text))), place)
                : 0
            expect(occurrences(bytes, place)).toBe(occurrences(document, place) - lost)
          },
        ),
        runs,
      )
    })
  },
)

/** Adds a member to every object that is no map of texts. */
function withUnknown(value: unknown, key: string, text: string, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => withUnknown(item, key, text))
  if (typeof value !== 'object' || value === null || ['labels', 'data'].includes(name)) return value
  const entries = Object.entries(value).map(([member, inner]) => [member, withUnknown(inner, key, text, member)])
  return { ...Object.fromEntries(entries), [key]: text }
}

function withoutUnknown(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutUnknown(item, key))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([member]) => member !== key)
  return Object.fromEntries(entries.map(([member, inner]) => [member, withoutUnknown(inner, key)]))
}

function occurrences(bytes: Buffer, part: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(part); at !== -1; at = bytes.indexOf(part, at + part.length)) count++
  return count
}

describe.each(formats)('other documents in $name', (format) => {
  const [master] = filterCases
  if (master === undefined) throw new Error('no cases')
  const { target } = master

  it.each([
    ['bare metadata', { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: target.metadata ?? {} }],
    ['a status', { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 200 }],
  ])('%s passes a get as it is', async (_name, object) => {
    const document = format.encode(object)
    const path = '/api/v1/namespaces/default/services/kubernetes'
    const { bytes } = await new FilterWorld().answer(path, 'node', [document], { contentType: mediaType(format) })
    expect(bytes).toEqual(document)
  })

  it('an answer of failure is no business of filters', async () => {
    const plan = await new FilterWorld().choose('/api/v1/services', 'node')
    const head = { status: 403, contentType: mediaType(format), contentEncoding: '', acceptEncoding: '' }
    expect(plan?.begin(head)).toBeUndefined()
  })

  it('a ConfigMap with another kubeconfig has that edited', async () => {
    const object = configMap('kube-system', 'kube-proxy', 'https://a:1')
    const data = object['data'] as Record<string, string>
    const config = `clientConnection:\n  kubeconfig: '/etc/other.kubeconfig'\n`
    const moved = { ...object, data: { 'config.conf': config, 'other.kubeconfig': data['kubeconfig.conf'] } }
    const path = '/api/v1/namespaces/kube-system/configmaps/kube-proxy'
    const { bytes } = await new FilterWorld().answer(path, 'node', [format.encode(moved)], {
      contentType: mediaType(format),
    })
    const seen = format.decode(bytes)['data'] as Record<string, string>
    expect(seen['other.kubeconfig']).toBe(
      data['kubeconfig.conf']?.replace('https://a:1', `https://${endpoint.address}:${endpoint.port}`),
    )
    expect(seen['config.conf']).toBe(config)
  })
})
