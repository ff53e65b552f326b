import { describe, expect, it } from 'vitest'
import { BackwardWriter } from '../../protobuf/writer.ts'
import { joinWatchEvent } from '../codec/watch-event.ts'
import { writeEnvelope } from '../envelope.ts'
import type { KubeObject } from '../objects.ts'
import { lostFieldsOf } from './lost-fields.ts'
import { protobufCodec } from './protobuf-codec.ts'

const contentType = protobufCodec.mediaType

/** A ConfigMap with a field that our schema does not know, as a newer server would send it. */
const ofNewerServer = writeEnvelope('v1', 'ConfigMap', (writer) => writer.stringField(999, 'new'))

/** The same inside a list. */
function listOfNewerServer(): Uint8Array {
  return writeEnvelope('v1', 'ConfigMapList', (writer) => {
    const item = new BackwardWriter(64)
    item.stringField(999, 'new')
    writer.bytesField(2, item.finish())
  })
}

describe('fields that the schema does not know', () => {
  it('are named on objects, list items and events', () => {
    expect(lostFieldsOf(protobufCodec.decode(ofNewerServer, contentType))).toEqual(['ConfigMap field 999'])
    const { items } = protobufCodec.decode(listOfNewerServer(), contentType)
    expect((items as KubeObject[]).map(lostFieldsOf)).toEqual([['ConfigMap field 999']])
    const event = protobufCodec.decodeEvent(joinWatchEvent('ADDED', ofNewerServer))
    expect([event.type, lostFieldsOf(event.object)]).toEqual(['ADDED', ['ConfigMap field 999']])
  })

  it('leave no mark on objects that came whole', () => {
    const whole = protobufCodec.decode(protobufCodec.encode({ apiVersion: 'v1', kind: 'ConfigMap' }), contentType)
    expect(lostFieldsOf(whole)).toEqual([])
    expect(Object.getOwnPropertySymbols(whole)).toEqual([])
  })

  it('stay on record in a copy', () => {
    const copy = { ...protobufCodec.decode(ofNewerServer, contentType), data: { a: 'b' } }
    expect(lostFieldsOf(copy)).toEqual(['ConfigMap field 999'])
  })
})

it('refuses to send less than the caller wrote', () => {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', colour: 'red' }
  expect(() => protobufCodec.encode(object)).toThrow('ConfigMap cannot be sent as protobuf: unknown colour')
})
