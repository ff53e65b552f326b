import { describe, expect, it } from 'vitest'
import { Item, storedValue } from '../objects/item.ts'
import { storedResource } from '../objects/resource.ts'
import { EventFrames, type ItemEvent } from './event-frames.ts'
import type { OutputContext } from './output.ts'
import { Renderer } from './renderer.ts'

function context(encoding: 'json' | 'protobuf'): OutputContext {
  const resource = storedResource('', 'v1', 'configmaps')
  if (resource === undefined) throw new Error('no such resource')
  return { resource, representation: { as: 'Object', encoding }, pretty: false, nowMs: 0 }
}

const noThread = { run: () => Promise.reject(new Error('nothing here is large')) }
const frames = new EventFrames(new Renderer(noThread))

function eventFrame(event: ItemEvent, output: OutputContext, isFirst: boolean): Buffer {
  const asker = { caller: 'somebody', signal: new AbortController().signal }
  return frames.frame(event, output, isFirst, asker) as Buffer
}

function item(name: string): Item {
  const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, namespace: 'default', uid: `uid-${name}` } }
  return Item.fromEntry({ key: name, value: storedValue(object), createRevision: 3, modRevision: 3 })
}

function told(frame: Buffer): { type: string; name: string; version: string } {
  const { type, object } = JSON.parse(frame.toString('utf8')) as {
    type: string
    object: { metadata: { name: string; resourceVersion: string } }
  }
  return { type, name: object.metadata.name, version: object.metadata.resourceVersion }
}

describe('EventFrames', () => {
  it('makes one frame for all watchers of a representation', () => {
    const event = { type: 'ADDED', item: item('a'), revision: 3 } as const
    const json = eventFrame(event, context('json'), true)
    const protobuf = eventFrame(event, context('protobuf'), true)
    expect(told(json)).toEqual({ type: 'ADDED', name: 'a', version: '3' })
    expect(eventFrame({ ...event }, context('json'), false)).toBe(json)
    expect(eventFrame({ ...event }, context('protobuf'), false)).toBe(protobuf)
    expect(protobuf.equals(json)).toBe(false)
  })

  it('tells one object as an addition to some and as a change to others', () => {
    const one = item('a')
    const types = (['ADDED', 'MODIFIED', 'ADDED'] as const).map((type) =>
      told(eventFrame({ type, item: one, revision: 3 }, context('json'), false)),
    )
    expect(types.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'ADDED'])
  })

  it('shows what has gone under the version at which it went, once for all', () => {
    const gone = { type: 'DELETED', item: item('a'), revision: 9 } as const
    const frame = eventFrame(gone, context('json'), false)
    expect(told(frame)).toEqual({ type: 'DELETED', name: 'a', version: '9' })
    expect(eventFrame(gone, context('json'), false)).toBe(frame)
    const other = { ...gone, revision: 11 }
    expect(told(eventFrame(other, context('json'), false)).version).toBe('11')
  })

  it('does not mistake one object for another', () => {
    for (const name of ['a', 'b', 'a']) {
      const frame = eventFrame({ type: 'ADDED', item: item(name), revision: 3 }, context('json'), false)
      expect(told(frame).name).toBe(name)
    }
  })
})
