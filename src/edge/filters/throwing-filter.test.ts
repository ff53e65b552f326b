/** A filter with a defect costs the answer it was asked about, and nothing else. */

import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { sourceOf, streamOf } from '../../../test/worlds/byte-sources.ts'
import { documentFormat } from '../../kube/document-format.ts'
import { NO_LOCAL_PODS, type ObjectFilter } from './filter.ts'
import type { FilterMetrics } from './filter-metrics.ts'
import { HeldMemory } from './held-body.ts'
import { ObjectJudge } from './object-judge.ts'
import { WatchBody } from './watch-body.ts'
import { WholeBodyFilter } from './whole-body-filter.ts'

const format = documentFormat('application/json')
if (format === undefined) throw new Error('JSON has a format')
const metrics = { changed: () => {}, passed: () => {}, refused: () => {} } as unknown as FilterMetrics
const defect = new TypeError('a defect')
const broken = {
  name: 'broken',
  decide: () => {
    throw defect
  },
} as unknown as ObjectFilter
const resource = { apiVersion: 'v1', kind: 'ConfigMap', resource: 'configmaps' }
const judge = new ObjectJudge(resource, [broken], undefined, NO_LOCAL_PODS, metrics)
const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: 'b' } }

describe('a filter that throws', () => {
  it('ends the watch with its error, and the way up with it', async () => {
    const source = new Readable({ read() {} })
    const body = streamOf(new WatchBody(sourceOf(source), { format, judge, metrics, undecodable: () => {} }))
    body.resume()
    const upClosed = new Promise((resolve) => source.once('close', resolve))
    const failed = new Promise((resolve) => body.once('error', resolve))
    source.push(`${JSON.stringify({ type: 'ADDED', object })}\n`)
    expect(await failed).toBe(defect)
    await upClosed
    expect(body.destroyed).toBe(true)
  })

  it('gives back the memory of the answer it broke', async () => {
    const memory = new HeldMemory()
    const head = { status: 200, contentEncoding: '', acceptEncoding: '' } as WholeBodyHead
    const filter = new WholeBodyFilter({ head, format, judge, name: 'a', memory, metrics, unfiltered: () => {} })
    await expect(filter.run(sourceOf(Readable.from([Buffer.from(JSON.stringify(object))])))).rejects.toBe(defect)
    expect(memory.bytes).toBe(0)
  })
})

type WholeBodyHead = ConstructorParameters<typeof WholeBodyFilter>[0]['head']
