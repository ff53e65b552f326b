import { describe, expect, it } from 'vitest'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { AUDIT_LINES_BURST, ReadAudit } from './read-audit.ts'

const path = '/apis/coordination.k8s.io/v1/namespaces/shop/leases/till'
const info = parseRequestInfo({ method: 'GET', path, query: '' }) as ResourceRequest
const read = { user: 'system:serviceaccount:shop:cart', info, code: 200, source: 'offline', offlineSinceMs: 0 } as const

function audit() {
  const lines: Record<string, unknown>[] = []
  const clock = new ManualClock()
  const destination = { write: (line: string) => lines.push(JSON.parse(line)) }
  return {
    clock,
    lines,
    audit: new ReadAudit(clock, createLogger({ level: 'info', format: 'json', clock, destination })),
  }
}

describe('the audit line of a read', () => {
  it('says who has read what, how it was answered, and since when there is no API server', () => {
    const { audit: it, lines } = audit()
    it.decided(read)
    expect(lines[0]).toMatchObject({
      user: 'system:serviceaccount:shop:cart',
      verb: 'get',
      resource: 'leases.coordination.k8s.io',
      namespace: 'shop',
      name: 'till',
      code: 200,
      source: 'offline',
      since: '1970-01-01T00:00:00.000Z',
    })
  })

  it('is left out where there are too many, and the next one counts those', async () => {
    const { audit: it, clock, lines } = audit()
    for (let count = 0; count < AUDIT_LINES_BURST + 3; count++) it.decided(read)
    expect(lines).toHaveLength(AUDIT_LINES_BURST)
    await clock.advance(1_000)
    it.decided(read)
    expect(lines.at(-1)).toMatchObject({ unlogged: 3 })
  })
})
