import { describe, expect, it } from 'vitest'
import { BackwardWriter } from '../../protobuf/writer.ts'
import { readEnvelope, writeEnvelope } from '../envelope.ts'
import type { KubeObject } from '../objects.ts'
import { messageType } from '../schema/schema.ts'
import { MAX_MESSAGE_DEPTH } from './decode.ts'
import { decodeMessage, decodeProtobuf, encodeMessage, encodeProtobuf } from './object-codec.ts'

const pod: KubeObject = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'a', labels: { b: '2', a: '1' } },
  spec: { containers: [{ name: 'c', resources: {} }], volumes: [{ name: 'v', emptyDir: {} }] },
}

describe('objects', () => {
  it('come back with the zeros that an API server prints', () => {
    expect(decodeProtobuf(encodeProtobuf(pod).bytes).object).toEqual({
      ...pod,
      metadata: { name: 'a', labels: { a: '1', b: '2' } },
      status: {},
    })
  })

  it('keep the type in the envelope', () => {
    expect(readEnvelope(encodeProtobuf(pod).bytes)).toMatchObject({ apiVersion: 'v1', kind: 'Pod', contentType: '' })
  })

  it('of a list have no type of their own, and an empty list is no null', () => {
    const list = { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [] } as unknown as KubeObject
    expect(decodeProtobuf(encodeProtobuf(list).bytes).object).toEqual(list)
  })

  it('share kinds between all groups: DeleteOptions', () => {
    const options: KubeObject = { kind: 'DeleteOptions', apiVersion: 'apps/v1', gracePeriodSeconds: 0 }
    expect(decodeProtobuf(encodeProtobuf(options).bytes).object).toEqual(options)
  })

  it('may hold JSON in the envelope instead', () => {
    const writer = new BackwardWriter()
    writer.stringField(4, 'application/json')
    writer.stringField(2, '{"kind":"Widget","apiVersion":"example.com/v1"}')
    const bytes = Buffer.concat([Buffer.from('k8s\0'), writer.finish()])
    expect(decodeProtobuf(bytes).object).toEqual({ kind: 'Widget', apiVersion: 'example.com/v1' })
  })
})

describe('crossing between the encodings', () => {
  it('drops unknown JSON fields and names them', () => {
    const { dropped } = encodeProtobuf({ ...pod, colour: 1, spec: { containers: [{ name: 'c', size: {} }] } })
    expect(dropped.names).toEqual(['colour', 'spec.containers[0].size'])
  })

  it('drops unknown protobuf fields and names them', () => {
    const writer = new BackwardWriter()
    writer.varintField(999, 1)
    writer.stringField(998, 'x')
    const { value, dropped } = decodeMessage(messageType('k8s.io.api.core.v1.PodSpec'), writer.finish())
    expect(value).toEqual({ containers: null })
    expect([dropped.count, dropped.names]).toEqual([2, ['PodSpec field 998', 'PodSpec field 999']])
  })
})

describe('values of the wrong type', () => {
  it.each([
    [{ spec: { containers: {} } }, 'Pod spec.containers: expected a list, got an object'],
    [{ spec: { containers: [1] } }, 'Pod spec.containers[0]: expected an object, got the number 1'],
    [{ spec: { hostNetwork: 'yes' } }, 'Pod spec.hostNetwork: expected a boolean, got the string "yes"'],
    [{ spec: { priority: 2 ** 31 } }, 'Pod spec.priority: expected a 32-bit integer, got the number 2147483648'],
    [
      { spec: { activeDeadlineSeconds: 0.5 } },
      'Pod spec.activeDeadlineSeconds: expected a 64-bit integer, got the number 0.5',
    ],
    [{ metadata: { labels: { a: 1 } } }, 'Pod metadata.labels.a: expected a string, got the number 1'],
    [
      { metadata: { creationTimestamp: 'now' } },
      'Pod metadata.creationTimestamp: "now" is no time: times look like 2026-01-02T03:04:05Z',
    ],
    [
      { spec: { overhead: { cpu: 'much' } } },
      'Pod spec.overhead.cpu: "much" is no quantity: quantities look like 500m, 1.5Gi or 3e6',
    ],
  ])('are named with their path: %j', (fields, message) => {
    expect(() => encodeProtobuf({ kind: 'Pod', apiVersion: 'v1', ...fields } as KubeObject)).toThrow(message)
  })

  it('includes base64 that is none', () => {
    const secret = { kind: 'Secret', apiVersion: 'v1', data: { a: 'a?b=' } }
    expect(() => encodeProtobuf(secret)).toThrow('Secret data.a: expected base64, got something else')
  })

  it('names a kind without a protobuf form', () => {
    expect(() => encodeProtobuf({ kind: 'Widget', apiVersion: 'example.com/v1' })).toThrow(
      'no protobuf form is known for apiVersion "example.com/v1", kind "Widget"',
    )
  })
})

describe('hostile protobuf', () => {
  const spec = messageType('k8s.io.api.core.v1.PodSpec')

  it('with a length beyond its end is truncated, whatever the length says', () => {
    expect(() => decodeMessage(spec, Buffer.from([0x12, 0xff, 0xff, 0xff, 0xff, 0x0f]))).toThrow(/ends inside a value/)
  })

  it('with an endless varint is malformed', () => {
    expect(() => decodeMessage(spec, Buffer.alloc(20, 0xff))).toThrow(/more than 32 bits/)
    const endless = Buffer.from([0x58, ...Array.from({ length: 12 }, () => 0xff)])
    expect(() => decodeMessage(spec, endless)).toThrow(/more than ten bytes/)
  })

  it('with the wrong wire type says which field', () => {
    expect(() => decodeMessage(spec, Buffer.from([0x10, 1]))).toThrow(/field containers has wire type 0/)
  })

  it('with field number zero is malformed', () => {
    expect(() => decodeMessage(spec, Buffer.from([0x00, 0x01]))).toThrow(/field number 0/)
  })

  it('nested without end is refused before the stack is', () => {
    const schema = messageType('k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps')
    let value: object = {}
    for (let depth = 0; depth < MAX_MESSAGE_DEPTH * 2; depth++) value = { not: value }
    expect(() => encodeMessage(schema, value)).toThrow(/nested deeper/)
    const writer = new BackwardWriter()
    for (let depth = 0; depth < 20_000; depth++) writer.closeField(27, 0)
    expect(() => decodeMessage(schema, writer.finish())).toThrow(/nested deeper/)
  })

  it('in which a message occurs twice is refused: readers differ on what that means', () => {
    const writer = new BackwardWriter()
    writer.stringField(1, '')
    writer.stringField(1, '')
    expect(() => decodeMessage(messageType('k8s.io.api.core.v1.ConfigMap'), writer.finish())).toThrow(
      'metadata occurs twice',
    )
    const twice = Buffer.from([0x12, 0, 0x12, 0])
    expect(() => decodeMessage(messageType('k8s.io.api.core.v1.Volume'), twice)).toThrow('occurs twice')
  })

  it('with a tag or a length beyond 32 bits is refused', () => {
    const long = Buffer.from([0x92, 0x80, 0x80, 0x80, 0x10, 0x00])
    expect(() => decodeMessage(spec, long)).toThrow(/more than 32 bits/)
    expect(() => decodeMessage(spec, Buffer.from([0x12, 0x81, 0x80, 0x80, 0x80, 0x10, 0x00]))).toThrow(
      /more than 32 bits/,
    )
    expect(decodeMessage(spec, Buffer.from([0x9a, 0x80, 0x00, 0x81, 0x00, 0x61])).value).toMatchObject({
      restartPolicy: 'a',
    })
  })

  it('inside other objects counts its depth from the outside', () => {
    const schema = (levels: number, innermost: Buffer): Buffer => {
      const writer = new BackwardWriter()
      writer.bytesField(1, innermost)
      writer.closeField(8, 0)
      for (let level = 0; level < levels; level++) writer.closeField(28, 0)
      return writer.finish()
    }
    const crd = (innermost: Buffer): Buffer => {
      const nested = schema(400, innermost)
      const version = new BackwardWriter()
      version.bytesField(1, nested)
      version.closeField(4, 0)
      version.closeField(7, 0)
      version.closeField(2, 0)
      const content = version.finish()
      return writeEnvelope('apiextensions.k8s.io/v1', 'CustomResourceDefinition', (writer) => writer.bytes(content))
    }
    expect(() => decodeProtobuf(crd(crd(crd(Buffer.from('1')))))).toThrow(/nested deeper/)
    expect(decodeProtobuf(crd(Buffer.from('1'))).object.kind).toBe('CustomResourceDefinition')
  })

  it('with times and quantities beyond all use can still be read', () => {
    const lease = (renewTime: string) =>
      encodeProtobuf({ kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', spec: { renewTime } })
    const readTime = (renewTime: string) =>
      (decodeProtobuf(lease(renewTime).bytes).object['spec'] as { renewTime?: string }).renewTime
    expect(readTime('9999-12-31T23:59:59.000000-01:00')).toBe('10000-01-01T00:59:59.000000Z')
    expect(readTime('0001-01-01T00:00:00.000000+01:00')).toBe('0000-12-31T23:00:00.000000Z')
    expect(readTime('0001-01-01T00:00:00.000000Z')).toBeNull()
    const hard = { memory: '9'.repeat(200), cpu: '1e99999' }
    const quota = { kind: 'ResourceQuota', apiVersion: 'v1', spec: { hard } }
    expect(decodeProtobuf(encodeProtobuf(quota).bytes).object['spec']).toEqual({
      hard: { cpu: '1e99999', memory: hard.memory },
    })
  })

  it('never takes __proto__ for anything but a key', () => {
    const map = JSON.parse('{"__proto__":"x","constructor":"y"}') as Record<string, string>
    const { bytes } = encodeProtobuf({ kind: 'ConfigMap', apiVersion: 'v1', data: map })
    const { object } = decodeProtobuf(bytes)
    expect(Object.entries(object['data'] as object)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
    expect(Object.getPrototypeOf(object['data'])).toBe(Object.prototype)
  })
})
