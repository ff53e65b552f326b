/** The wire walker by random documents: against its slow twin, among unknown fields, and on bytes that lie. */
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { ANY_ITEM, type DocumentWalker, type FieldEdit } from '../../../src/kube/walker/walker.ts'
import { WireError } from '../../../src/protobuf/wire-error.ts'
import { arbitraryEdits, arbitraryList, arbitraryObject } from './arbitraries.ts'
import { type Format, formats, protobufFormat, stableText } from './formats.ts'
import { editPlainly, readPlainly } from './twin.ts'
import { field, inject, withContent } from './wire.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'
const runs = { numRuns: isLong ? 20_000 : 300 }
const hostileRuns = { numRuns: isLong ? 100_000 : 1_000 }

if (isLong) vi.setConfig({ testTimeout: 300_000 })

const objectAndEdits = arbitraryObject.chain((object) => arbitraryEdits(object).map((edits) => ({ object, edits })))

/** The long way: decode, edit, encode. */
function editSlowly(format: Format, document: Buffer, edits: readonly FieldEdit[]): Buffer {
  return edits.reduce((bytes, edit) => {
    const object = format.decode(bytes)
    editPlainly(object, edit)
    return format.encode(object)
  }, document)
}

describe.each(formats)('$name walker', (format) => {
  const { walker, encode, decode } = format

  it('edits as its twin does', () => {
    fc.assert(
      fc.property(objectAndEdits, ({ object, edits }) => {
        const document = encode(object)
        const before = Buffer.from(document)
        const edited = Buffer.from(walker.edit(document, edits))
        const expected = editSlowly(format, document, edits)
        expect(stableText(decode(edited))).toBe(stableText(decode(expected)))
        if (format === protobufFormat) expect(edited.equals(expected)).toBe(true)
        expect(document.equals(before)).toBe(true)
      }),
      runs,
    )
  })

  it('returns the same buffer exactly when nothing changed', () => {
    fc.assert(
      fc.property(objectAndEdits, ({ object, edits }) => {
        const document = encode(object)
        for (const edit of edits) {
          const edited = walker.edit(document, [edit])
          expect(edited === document).toBe(document.equals(edited))
        }
      }),
      runs,
    )
  })

  it('reads as its twin does', () => {
    fc.assert(
      fc.property(objectAndEdits, ({ object, edits }) => {
        const document = encode(object)
        for (const { path } of edits) {
          expect(stableText(walker.read(document, path))).toBe(stableText(readPlainly(decode(document), path)))
        }
      }),
      runs,
    )
  })

  it('splits, drops and changes list items as its twin does', () => {
    const listAndFates = fc.tuple(arbitraryList, fc.array(fc.constantFrom('keep', 'drop', 'change'), { minLength: 5 }))
    fc.assert(
      fc.property(listAndFates, ([list, fates]) => {
        const document = encode(list)
        const rename = { path: ['metadata', 'name'], replace: () => 'x'.repeat(128) }
        const plain = decode(document) as { items: Record<string, unknown>[] }
        const identities = walker.items(document).map((item) => item.identity)
        expect(identities).toEqual(plain.items.map((item) => identityOf(item['metadata'])))
        let index = 0
        const mapped = walker.mapItems(document, (item) => {
          const fate = fates[index++]
          return fate === 'keep' ? undefined : fate === 'drop' ? null : item.edit([rename])
        })
        for (const [at, item] of plain.items.entries()) if (fates[at] === 'change') editPlainly(item, rename)
        plain.items = plain.items.filter((_item, at) => fates[at] !== 'drop')
        expect(stableText(decode(mapped))).toBe(stableText(decode(encode(plain))))
      }),
      runs,
    )
  })

  it('meets broken bytes with nothing but a WireError', () => {
    const damage = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }), cut: fc.boolean() })
    fc.assert(
      fc.property(
        fc.oneof(arbitraryObject, arbitraryList),
        fc.array(damage, { minLength: 1, maxLength: 4 }),
        (object, damages) => {
          let bytes: Buffer = Buffer.from(encode(object))
          for (const { at, byte, cut } of damages) {
            if (cut) bytes = bytes.subarray(0, at % (bytes.length + 1))
            else if (bytes.length > 0) bytes[at % bytes.length] = byte
          }
          useEverything(walker, bytes)
        },
      ),
      hostileRuns,
    )
  })

  it('meets garbage with nothing but a WireError', () => {
    const start = Buffer.from(encode({ kind: 'Service', apiVersion: 'v1' }))
    const garbage = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.concat([start.subarray(0, 24), bytes])),
      fc
        .array(fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', ' ', '1', 'true'), { maxLength: 24 })
        .map((parts) => Buffer.from(parts.join(''))),
    )
    fc.assert(
      fc.property(garbage, (bytes) => useEverything(walker, bytes)),
      hostileRuns,
    )
  })
})

describe('protobuf walker among unknown fields', () => {
  const { walker, encode, decode } = protobufFormat
  const marker = 'nobody knows me'
  const unknown = field(1999, marker)

  it.each<[string, number[], FieldEdit['path']]>([
    ['Service', [2, 1], ['spec', 'ports', ANY_ITEM, 'port']],
    ['Service', [1, 11], ['metadata', 'resourceVersion']],
    ['Pod', [2, 2, 7], ['spec', 'containers', ANY_ITEM, 'env', ANY_ITEM, 'value']],
    ['EndpointSlice', [2], ['endpoints', ANY_ITEM, 'nodeName']],
  ])('keeps those of a %s in %j when %j changes', (kind, route, path) => {
    const value = path.at(-1) === 'port' ? 10_550 : 'changed'
    const edits = [{ path, replace: () => value }]
    const object = arbitraryObject.filter((candidate) => candidate.kind === kind)
    fc.assert(
      fc.property(object, fc.nat(), (candidate, gap) => {
        const plain = encode(candidate)
        const strange = withContent(plain, (content) => inject(content, route, unknown, gap))
        const edited = walker.edit(strange, edits)
        expect(count(edited, marker)).toBe(count(strange, marker))
        expect(stableText(decode(edited))).toBe(stableText(decode(walker.edit(plain, edits))))
      }),
      { numRuns: isLong ? 5_000 : 100 },
    )
  })
})

function count(bytes: Uint8Array, text: string): number {
  return Buffer.from(bytes).toString('latin1').split(text).length - 1
}

function identityOf(metadata: unknown) {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = (metadata ?? {}) as Record<string, string>
  return { namespace, name, uid, resourceVersion }
}

/** Runs every method; each must return or throw a WireError. */
function useEverything(walker: DocumentWalker, bytes: Uint8Array): void {
  const paths: FieldEdit['path'][] = [
    ['metadata', 'labels', 'name'],
    ['spec', 'clusterIPs'],
    ['spec', 'ports', { key: 'name', equals: 'https' }, 'port'],
    ['spec', 'containers', ANY_ITEM, 'env', ANY_ITEM],
    ['items', ANY_ITEM, 'metadata', 'annotations'],
    ['data', 'name'],
  ]
  const uses: (() => unknown)[] = [
    () => walker.typeOf(bytes),
    () => walker.identityOf(bytes),
    () => walker.listMeta(bytes),
    () => walker.items(bytes).map((item) => [item.type, item.identity, item.toDocument()]),
    () => walker.mapItems(bytes, (item) => (item.bytes.length % 2 === 0 ? null : item.bytes)),
    () => walker.readEvent(bytes),
    ...paths.map((path) => () => walker.read(bytes, path)),
    ...paths.map((path) => () => walker.edit(bytes, [{ path, replace: () => undefined }])),
  ]
  for (const use of uses) {
    try {
      use()
    } catch (error) {
      if (!(error instanceof WireError)) throw error
    }
  }
}
