/** What only protobuf has: lengths, inlined messages, unknown fields, the schema, and bytes that lie. */
import { describe, expect, it } from 'vitest'
import { decodeProtobuf, encodeProtobuf } from '../../../src/kube/codec/object-codec.ts'
import { protobufWalker as walker } from '../../../src/kube/walker/protobuf-walker.ts'
import { ANY_ITEM, type FieldPath } from '../../../src/kube/walker/walker.ts'
import { WireError } from '../../../src/protobuf/wire-error.ts'
import { envelope, envelopeMagic, field, varintField } from './wire.ts'

const service = encodeProtobuf({
  kind: 'Service',
  apiVersion: 'v1',
  metadata: { name: 'kubernetes' },
  spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, targetPort: 6443 }] },
}).bytes

function edit(document: Buffer, path: FieldPath, value: unknown): Buffer {
  return walker.edit(document, [{ path, replace: () => value }]) as Buffer
}

describe('protobuf walker, on the wire', () => {
  it.each([0, 100, 127, 128, 16_383, 16_384, 70_000])('writes the lengths around a value of %i bytes', (length) => {
    const text = 'x'.repeat(length)
    const grown = edit(service, ['spec', 'ports', 0, 'name'], text)
    const expected = decodeProtobuf(service).object as { spec?: { ports: [{ name: string }] } }
    if (expected.spec !== undefined) expected.spec.ports[0].name = text
    expect(grown.equals(encodeProtobuf(expected).bytes)).toBe(true)
    expect(edit(grown, ['spec', 'ports', 0, 'name'], 'https').equals(service)).toBe(true)
  })

  it('keeps unknown fields of every wire type around a change', () => {
    const fixed64 = Buffer.concat([Buffer.from([0xb1, 0x38]), Buffer.alloc(8, 1)])
    const group = Buffer.from([0xb3, 0x38, 0x08, 0x01, 0xb4, 0x38])
    const around = Buffer.concat([varintField(900, 7), field(901, 'kept'), fixed64, group])
    const build = (ip: string) => envelope('v1', 'Service', around, field(2, around, field(3, ip), around), around)
    expect(edit(build('a'), ['spec', 'clusterIP'], 'b').equals(build('b'))).toBe(true)
  })

  it('puts a new field before the first with a greater number', () => {
    const before = envelope('v1', 'Service', field(1), field(2, field(3, 'ip'), field(11, 'external'), field(900, '?')))
    const after = envelope(
      'v1',
      'Service',
      field(1),
      field(2, field(3, 'ip'), field(4, 'ClusterIP'), field(11, 'external'), field(900, '?')),
    )
    expect(edit(before, ['spec', 'type'], 'ClusterIP').equals(after)).toBe(true)
  })

  it('replaces a field that occurs scattered, and reads it as the codec does', () => {
    const build = (...fields: Buffer[]) => envelope('v1', 'Service', field(2, ...fields))
    const scattered = build(field(18, 'a'), field(4, 'ClusterIP'), field(18, 'b'), field(18, 'c'), field(900, '?'))
    expect(walker.read(scattered, ['spec', 'clusterIPs'])).toEqual(['a', 'b', 'c'])
    const replaced = build(field(18, 'd'), field(4, 'ClusterIP'), field(900, '?'))
    expect(edit(scattered, ['spec', 'clusterIPs'], ['d']).equals(replaced)).toBe(true)
    const twice = envelope('v1', 'Service', field(2, field(3, 'old')), field(2, field(3, 'first'), field(3, 'last')))
    expect(() => walker.read(twice, ['spec', 'clusterIP'])).toThrow('the single field spec occurs twice')
    expect(() => decodeProtobuf(twice)).toThrow('the single field spec occurs twice')
  })

  it('steps through inlined messages, and makes one that is missing', () => {
    const volume = (...content: Buffer[]) => envelope('v1', 'Pod', field(2, field(1, ...content)))
    const path: FieldPath = ['spec', 'volumes', 0, 'hostPath', 'path']
    const hostPath = (value: string) => field(2, field(1, field(1, value)))
    expect(walker.read(volume(field(1, 'a'), hostPath('/a')), path)).toBe('/a')
    expect(edit(volume(field(1, 'a'), hostPath('/a')), path, '/b').equals(volume(field(1, 'a'), hostPath('/b')))).toBe(
      true,
    )
    const bare = volume(field(1, 'a'))
    expect(edit(bare, path, '/b')).toBe(bare)
    const added = edit(bare, ['spec', 'volumes', 0, 'hostPath'], { path: '/b' })
    expect(added.equals(volume(field(1, 'a'), hostPath('/b')))).toBe(true)
    expect(() => walker.read(volume(hostPath('/a'), hostPath('/b')), path)).toThrow('a second inlined message')
  })

  it('walks the metadata of kinds that the schema does not know', () => {
    const item = (name: string) => field(2, field(1, field(1, name), field(3, 'sea')), field(2, 'spec of a tide'))
    const build = (version: string) =>
      envelope('sea.example/v1', 'TideList', field(1, field(2, version)), item('high'), item('low'))
    const list = build('7')
    expect(walker.listMeta(list)).toEqual({ resourceVersion: '7' })
    const names = walker.items(list).map(({ type, identity }) => `${type.kind} ${identity.namespace}/${identity.name}`)
    expect(names).toEqual(['Tide sea/high', 'Tide sea/low'])
    expect(edit(list, ['metadata', 'resourceVersion'], '8').equals(build('8'))).toBe(true)
    expect(edit(list, ['items', ANY_ITEM, 'spec', 'height'], 1)).toBe(list)
    const [high] = walker.items(list)
    expect(high?.toDocument()).toEqual(
      Buffer.concat([
        envelope('sea.example/v1', 'Tide', Buffer.from(high?.bytes ?? [])),
        // The codec writes the two empty fields of the envelope.
        field(3),
        field(4),
      ]),
    )
  })

  it('fails rather than lose what protobuf cannot carry', () => {
    expect(() => edit(service, ['spec', 'colour'], 'red')).toThrow(/^Service spec\.colour: .* no field colour/)
    expect(() => edit(service, ['spec', 'ports'], [{ colour: 1 }])).toThrow(/no field ports\[0\]\.colour/)
    expect(() => edit(service, ['spec', 'clusterIP'], 1)).toThrow(
      'Service spec.clusterIP: clusterIP: expected a string, got the number 1',
    )
    expect(() => walker.read(service, ['spec', 'ports', ANY_ITEM, 'targetPort', 'x'])).toThrow(
      'Service spec.ports[*].targetPort.x: targetPort has to be read or replaced as a whole',
    )
  })

  it.each<[string, Buffer, string]>([
    ['no envelope', Buffer.from('{}'), 'unknown-kind'],
    ['a length past the end', envelope('v1', 'Service', Buffer.from([0x12, 0x7f])), 'truncated'],
    ['a length of 4 GiB', envelope('v1', 'Service', Buffer.from([0x12, 0xff, 0xff, 0xff, 0xff, 0x0f])), 'truncated'],
    ['field number 0', envelope('v1', 'Service', Buffer.from([0x02, 0x00])), 'malformed'],
    ['wire type 7', envelope('v1', 'Service', Buffer.from([0x17, 0x00])), 'malformed'],
    ['a spec that is a number', envelope('v1', 'Service', varintField(2, 1)), 'wrong-wire-type'],
    ['a clusterIP that is a number', envelope('v1', 'Service', field(2, varintField(3, 1))), 'wrong-wire-type'],
    [
      'JSON in the envelope',
      Buffer.concat([envelopeMagic, field(1, field(2, 'Service')), field(2, '{}'), field(4, 'application/json')]),
      'bad-value',
    ],
  ])('refuses %s', (_what, document, code) => {
    const attempt = () => walker.read(document, ['spec', 'clusterIP'])
    expect(attempt).toThrow(WireError)
    expect(attempt).toThrow(expect.objectContaining({ code }) as Error)
  })

  it('refuses lists of mixed kinds, whose items it cannot tell apart', () => {
    expect(() => walker.items(envelope('v1', 'List', field(2, field(1, '{}'))))).toThrow(
      'a List is no list of objects of one kind',
    )
  })

  it('takes an empty envelope for an empty object', () => {
    const empty = Buffer.concat([envelopeMagic, field(1, field(1, 'v1'), field(2, 'Service'))])
    expect(walker.identityOf(empty)).toEqual({ namespace: '', name: '', uid: '', resourceVersion: '' })
    expect(walker.read(empty, ['spec', 'clusterIP'])).toBeUndefined()
    expect(edit(empty, ['spec', 'clusterIP'], 'x')).toBe(empty)
  })
})
