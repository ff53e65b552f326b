import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeBody } from '../../kube/codec/encode-body.ts'
import { encodeProtobuf } from '../../kube/codec/object-codec.ts'
import type { KubeObject, ListMeta } from '../../kube/objects.ts'
import type { Encoding, IncludeObject, Representation } from '../../kube/representation.ts'
import { renderTable } from '../../kube/tables/table.ts'
import { systemClock } from '../../runtime/clock.ts'
import { Turns } from '../../runtime/turns.ts'
import { type HeavyTask, performTask } from '../heavy/heavy-task.ts'
import { Item, MAX_INLINE_OBJECT_BYTES, storedValue } from '../objects/item.ts'
import { type Resource, storedResource } from '../objects/resource.ts'
import { EventFrames } from './event-frames.ts'
import { listPieces } from './list-pieces.ts'
import { type OutputContext, objectBody } from './output.ts'
import { Renderer } from './renderer.ts'

const asker = { caller: 'somebody', signal: new AbortController().signal }

/** The other thread's work on this one. */
function heavyRenderer(): { renderer: Renderer; steps: string[] } {
  const steps: string[] = []
  const run = (task: HeavyTask) => {
    steps.push(task.step)
    return Promise.resolve(performTask(task))
  }
  return { renderer: new Renderer({ run }), steps }
}

function resourceOf(group: string, version: string, name: string): Resource {
  const resource = storedResource(group, version, name)
  if (resource === undefined) throw new Error('no such resource')
  return resource
}

const configMaps = resourceOf('', 'v1', 'configmaps')
const nowMs = Date.UTC(2026, 1, 3)

const table = (encoding: 'json' | 'yaml', includeObject: IncludeObject): Representation => ({
  as: 'Table',
  encoding,
  version: 'v1',
  includeObject,
})
const partial = (encoding: Encoding): Representation => ({ as: 'PartialObjectMetadataList', encoding, version: 'v1' })

const forms: [name: string, representation: Representation, pretty: boolean][] = [
  ['compact JSON', { as: 'Object', encoding: 'json' }, false],
  ['indented JSON', { as: 'Object', encoding: 'json' }, true],
  ['YAML', { as: 'Object', encoding: 'yaml' }, false],
  ['protobuf', { as: 'Object', encoding: 'protobuf' }, false],
  ['a Table', table('json', 'Metadata'), false],
  ['an indented Table', table('json', 'Metadata'), true],
  ['a Table without objects', table('json', 'None'), false],
  ['a Table with objects', table('json', 'Object'), false],
  ['a Table in YAML', table('yaml', 'Object'), false],
  ['bare metadata', partial('json'), false],
  ['indented metadata', partial('json'), true],
  ['metadata in YAML', partial('yaml'), false],
  ['metadata in protobuf', partial('protobuf'), false],
]

/** The same made as a whole from the objects themselves. */
function whole(objects: readonly KubeObject[], metadata: ListMeta, output: OutputContext): Buffer {
  const { representation, resource, pretty } = output
  const { apiVersion, kind } = resource
  const bare = objects.map(({ kind: _kind, apiVersion: _version, ...rest }) => rest)
  let list: object = { kind: `${kind}List`, apiVersion, metadata, items: bare }
  if (representation.as === 'Table') {
    const { includeObject, version } = representation
    list = renderTable(objects, {
      apiVersion,
      kind,
      listMeta: metadata,
      includeObject,
      version,
      nowMs,
      withHeaders: true,
    })
  } else if (representation.as === 'PartialObjectMetadataList') {
    const items = objects.map((object) => ({ metadata: object.metadata ?? {} }))
    list = { kind: representation.as, apiVersion: `meta.k8s.io/${representation.version}`, metadata, items }
  }
  if (representation.encoding === 'protobuf') return encodeProtobuf(list as KubeObject).bytes
  return encodeBody(list as KubeObject, representation.encoding, pretty)
}

function itemOf(object: KubeObject, index: number): Item {
  const key = `core/configmaps/default/${index}`
  return Item.fromEntry({ key, value: storedValue(object), createRevision: 5, modRevision: 5 + index })
}

async function pieced(items: readonly Item[], metadata: ListMeta, output: OutputContext, renderer: Renderer) {
  const pieces: Buffer[] = []
  const parts = { renderer, turns: new Turns(systemClock), asker }
  for await (const piece of listPieces(items, metadata, output, parts)) pieces.push(piece)
  return Buffer.concat(pieces)
}

function configMap(name: string, data: Record<string, string>, annotations: Record<string, string> = {}): KubeObject {
  const metadata = { name, namespace: 'default', uid: `uid-${name}`, creationTimestamp: '2026-02-01T00:00:00Z' }
  const annotated = Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations }
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: annotated, data }
}

const hostileTexts = [
  '',
  'no',
  '1',
  '- a',
  'a\nb\n',
  '  indented\n\n\nlines',
  'items: []\n',
  '"<&>',
  'ü\u2028',
  "it's",
  '# x',
]

describe.each(forms)('a list as %s', (_, representation, pretty) => {
  const output = { resource: configMaps, representation, pretty, nowMs }

  it.each([0, 1, 2, 150])('is the same in pieces as made whole, with %d items', async (count) => {
    const items = Array.from({ length: count }, (_, index) => {
      const text = hostileTexts[index % hostileTexts.length] as string
      return itemOf(configMap(`c-${index}`, { text, 'x.y': 'b'.repeat(index * 10) }, { note: text }), index)
    })
    const metadata = { resourceVersion: '70', continue: 'abc', remainingItemCount: 3 }
    const made = await pieced(items, metadata, output, heavyRenderer().renderer)
    const expected = whole(
      items.map((item) => item.object()),
      metadata,
      output,
    )
    expect(made.equals(expected) ? '' : made.toString('utf8')).toBe(
      made.equals(expected) ? '' : expected.toString('utf8'),
    )
  })

  it('is the same whatever the texts are', async () => {
    const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 30 }), fc.constantFrom(...hostileTexts))
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 4 }), async (texts) => {
        const items = texts.map((each, index) => itemOf(configMap(`c-${index}`, { each }, { each }), index))
        const made = await pieced(items, {}, output, heavyRenderer().renderer)
        expect(made.toString('latin1')).toBe(
          whole(
            items.map((item) => item.object()),
            {},
            output,
          ).toString('latin1'),
        )
      }),
      { numRuns: 20 },
    )
  })

  it('leaves what is large to the other thread, alone and among small ones', async () => {
    const { renderer, steps } = heavyRenderer()
    const large = configMap('large', { text: 'x\n'.repeat(MAX_INLINE_OBJECT_BYTES) })
    const items = [configMap('a', {}), large, configMap('z', {})].map(itemOf)
    const made = await pieced(items, {}, output, renderer)
    expect(
      made.equals(
        whole(
          items.map((item) => item.object()),
          {},
          output,
        ),
      ),
    ).toBe(true)
    const isHeavy =
      representation.as === 'Table' ||
      (representation.as === 'Object' && (pretty || representation.encoding !== 'json'))
    expect(steps.length > 0).toBe(isHeavy)
    const one = { ...output, representation: single(representation) }
    const body = await objectBody(items[1] as Item, one, renderer, asker)
    expect(body.length).toBeGreaterThan(0)
    const frames = new EventFrames(renderer)
    const event = { type: 'ADDED', item: items[1] as Item, revision: 6 } as const
    const [frame, again] = await Promise.all([
      frames.frame(event, one, true, asker),
      frames.frame(event, one, true, asker),
    ])
    expect(frame.equals(again)).toBe(true)
  })
})

function single(representation: Representation): Representation {
  return representation.as === 'PartialObjectMetadataList'
    ? { ...representation, as: 'PartialObjectMetadata' }
    : representation
}

it('keeps the order that the Table of a kind has', async () => {
  const resource = resourceOf('flowcontrol.apiserver.k8s.io', 'v1', 'flowschemas')
  const items = [9, 3, 5].map((matchingPrecedence, index) => {
    const metadata = { name: `f-${index}`, uid: `uid-${index}` }
    return itemOf(
      { kind: 'FlowSchema', apiVersion: resource.apiVersion, metadata, spec: { matchingPrecedence } },
      index,
    )
  })
  const output = { resource, representation: table('json', 'None'), pretty: false, nowMs }
  const made = JSON.parse((await pieced(items, {}, output, heavyRenderer().renderer)).toString('utf8'))
  expect(made.rows.map((row: { cells: unknown[] }) => row.cells[0])).toEqual(['f-1', 'f-2', 'f-0'])
})
