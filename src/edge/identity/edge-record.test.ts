import { describe, expect, it } from 'vitest'
import { type EdgeRecord, type EdgeRecordError, readEdgeRecord, writeEdgeRecord } from './edge-record.ts'

const record: EdgeRecord = {
  node: 'edge-1',
  hubs: ['https://hub:10000'],
  apiServerName: 'kubernetes',
  kubernetesCaSha256: 'a'.repeat(64),
  rotation: { fingerprint: 'b'.repeat(64), atMs: 1_800_000_000_000 },
}
const { rotation: _, ...withoutRotation } = record

function problem(change: Record<string, unknown>): EdgeRecordError {
  const text = JSON.stringify({ ...JSON.parse(writeEdgeRecord(record)), ...change })
  try {
    readEdgeRecord(text, '/d/edge.json')
  } catch (error) {
    return error as EdgeRecordError
  }
  throw new Error('the record was accepted')
}

describe('the record of an edge', () => {
  it('is read as it was written', () => {
    expect(readEdgeRecord(writeEdgeRecord(record), 'x')).toEqual(record)
    expect(readEdgeRecord(writeEdgeRecord(withoutRotation), 'x')).toEqual(withoutRotation)
  })

  it.each([
    [{ node: '' }, 'node'],
    [{ node: undefined }, 'node'],
    [{ hubs: [] }, 'hubs'],
    [{ kubernetesCaSha256: 'A'.repeat(64) }, 'kubernetesCaSha256'],
    [{ rotation: { fingerprint: 'b'.repeat(64), atMs: 'soon' } }, 'rotation.atMs'],
    [{ version: 0 }, 'version'],
    [{ version: '1' }, 'version'],
  ])('with %j is damaged, and the message says where', (change, where) => {
    const error = problem(change)
    expect(error.problem).toBe('damaged')
    expect(error.message).toContain(`/d/edge.json is damaged (${where}: `)
  })

  it.each(['', '{', 'null', '[]', '7'])('is not %j', (text) => {
    expect(() => readEdgeRecord(text, '/d/edge.json')).toThrow('/d/edge.json is damaged')
  })

  it('of a newer program is left to that', () => {
    expect(problem({ version: 2, node: 7 })).toMatchObject({ problem: 'newer' })
  })
})
