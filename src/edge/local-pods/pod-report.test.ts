import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSameTruth, localPodOf } from './local-pod.ts'
import { readReport, reportingKind } from './pod-report.ts'

const uid = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'
const served = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'web-0', namespace: 'default', uid, resourceVersion: '7' },
  spec: { nodeName: 'edge-1', containers: [{ name: 'c' }] },
  status: {
    phase: 'Running',
    podIP: '10.1.0.5',
    podIPs: [{ ip: '10.1.0.5' }, { ip: 'fd00::5' }],
    conditions: [
      { type: 'PodScheduled', status: 'True' },
      { type: 'Ready', status: 'True' },
    ],
  },
}

function report(patch: unknown, kind: 'strategic' | 'merge' = 'strategic', pod: object = served) {
  const body = typeof patch === 'string' ? Buffer.from(patch) : Buffer.from(JSON.stringify(patch))
  return readReport(pod as never, { kind, body }, 'edge-1')
}

describe('a report', () => {
  it('is the strategic merge that a kubelet sends, applied to what it was given', () => {
    const patch = {
      metadata: { uid },
      status: {
        '$setElementOrder/conditions': [{ type: 'PodScheduled' }, { type: 'Ready' }],
        '$setElementOrder/podIPs': [{ ip: '10.1.0.9' }, { ip: 'fd00::9' }],
        conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }],
        podIP: '10.1.0.9',
        podIPs: [
          { ip: '10.1.0.9' },
          { ip: 'fd00::9' },
          { $patch: 'delete', ip: '10.1.0.5' },
          { $patch: 'delete', ip: 'fd00::5' },
        ],
      },
    }
    expect(report(patch)).toEqual({
      uid,
      namespace: 'default',
      name: 'web-0',
      addresses: ['10.1.0.9', 'fd00::9'],
      isReady: false,
      isTerminating: false,
      isOver: false,
    })
  })

  it('may be a merge patch', () => {
    const status = { podIP: '10.1.0.9', podIPs: [{ ip: '10.1.0.9' }] }
    expect(report({ status }, 'merge')).toMatchObject({ addresses: ['10.1.0.9'], isReady: true })
    expect(report({ status: { podIP: null, podIPs: null } }, 'merge')).toMatchObject({ addresses: [] })
  })

  it('goes by the single address where the two fields differ, and by what one address is called', () => {
    expect(report({ status: { podIP: 'FD00:0::9', podIPs: [{ ip: '10.1.0.5' }] } }, 'merge')).toMatchObject({
      addresses: ['fd00::9'],
    })
  })

  it('says that a pod is going only where the API server has said it', () => {
    const metadata = { ...served.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' }
    expect(report({ status: { phase: 'Failed' } }, 'strategic', { ...served, metadata })).toMatchObject({
      isTerminating: true,
      isOver: true,
    })
    expect(report({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })).toMatchObject({ isTerminating: false })
  })

  it('of another pod or of the pod of another node is none', () => {
    expect(report({ metadata: { uid: 'another' }, status: { podIP: '10.1.0.9' } })).toBe('foreign')
    expect(report({ metadata: { uid: null } }, 'merge')).toBe('foreign')
    expect(report({}, 'strategic', { ...served, spec: { nodeName: 'edge-2' } })).toBe('foreign')
    expect(report({ spec: { nodeName: 'edge-1' } }, 'strategic', { ...served, spec: {} })).toBe('foreign')
  })

  it.each([
    'no JSON',
    '[]',
    '{"status":{"podIP":"nowhere","podIPs":[{"ip":"nowhere"}]}}',
    '{"status":{"podIP":"10.1.0.6","podIPs":[{"ip":"10.1.0.6"}]}}',
    '{"status":{"$patch":"conjure"}}',
  ])('that an API server would refuse is none: %s', (text) => {
    expect(report(text)).toBe('malformed')
  })

  it('never throws, and is always about the pod that was served', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('strategic' as const, 'merge' as const), (text, kind) => {
        const found = report(text, kind)
        if (typeof found !== 'string') expect([found.uid, found.name]).toEqual([uid, 'web-0'])
      }),
    )
  })

  it('is known by its media type', () => {
    expect(reportingKind('application/strategic-merge-patch+json; charset=utf-8')).toBe('strategic')
    expect(reportingKind('application/merge-patch+json')).toBe('merge')
    expect(reportingKind('application/json-patch+json')).toBeUndefined()
    expect(reportingKind('application/apply-patch+yaml')).toBeUndefined()
    expect(reportingKind('')).toBeUndefined()
  })
})

describe('two pods', () => {
  it('are one truth by addresses, readiness and their end alone', () => {
    const one = localPodOf(served)
    if (one === undefined) throw new Error('not read')
    expect(isSameTruth(one, { ...one, isTerminating: true })).toBe(true)
    expect(isSameTruth(one, { ...one, isReady: false })).toBe(false)
    expect(isSameTruth(one, { ...one, isOver: true })).toBe(false)
    expect(isSameTruth(one, { ...one, addresses: ['10.1.0.5'] })).toBe(false)
  })
})
