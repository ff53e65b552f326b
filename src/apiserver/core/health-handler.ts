/** Health and metrics on the API server's own port, under its own authorization. */
import type { Registry } from 'prom-client'
import { type HealthChecks, renderHealth } from '../../telemetry/health.ts'
import type { Delegate } from '../delegation/delegate.ts'
import { respond } from '../serving/respond.ts'

export function healthHandler(health: HealthChecks, registry: Registry): Delegate {
  return async (context) => {
    const { info, query } = context
    if (info.kind !== 'non-resource' || info.verb !== 'get') return false
    if (info.path === '/metrics') {
      const text = await registry.metrics()
      await respond(context, 200, { 'content-type': registry.contentType }, Buffer.from(text))
      return true
    }
    const endpoint = /^\/(livez|readyz|healthz)$/.exec(info.path)?.[1]
    if (endpoint === undefined) return false
    const report = await health.report(endpoint === 'livez' ? 'live' : 'ready', query.getAll('exclude'))
    const body = Buffer.from(renderHealth(endpoint, report, query.has('verbose')))
    await respond(context, report.ok ? 200 : 500, plainText, body)
    return true
  }
}

const plainText = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
