/** Health and metrics on the API server's own port, under its own authorization; any method will do, as everywhere. */

import type { Registry } from 'prom-client'
import type { RequestQuery } from '../../kube/request-query.ts'
import { type HealthChecks, type HealthQuestion, renderHealth } from '../../telemetry/health.ts'
import { respond } from '../answers/respond.ts'
import type { Delegate } from './delegate.ts'

const endpoints = /^\/(livez|readyz|healthz)(?:\/([^/]+))?$/

export function healthHandler(health: HealthChecks, registry: Registry): Delegate {
  return async (context) => {
    const { info, query } = context
    if (info.kind !== 'non-resource') return false
    if (info.path === '/metrics') {
      const text = await registry.metrics()
      await respond(context, 200, { 'content-type': registry.contentType }, Buffer.from(text))
      return true
    }
    const [, endpoint, name] = endpoints.exec(info.path) ?? []
    if (endpoint === undefined) return false
    const question = endpoint === 'livez' ? 'live' : 'ready'
    const answer =
      name === undefined
        ? await wholeAnswer(health, question, endpoint, query)
        : await singleAnswer(health, question, name)
    if (answer === undefined) return false
    await respond(context, answer.ok ? 200 : 500, plainText, Buffer.from(answer.text))
    return true
  }
}

interface HealthAnswer {
  readonly ok: boolean
  readonly text: string
}

async function wholeAnswer(
  health: HealthChecks,
  question: HealthQuestion,
  endpoint: string,
  query: RequestQuery,
): Promise<HealthAnswer> {
  const report = await health.report(question, query.all('exclude'))
  return { ok: report.ok, text: renderHealth(endpoint, report, query.has('verbose')) }
}

/** One check by its name, as `/livez/ping`. */
async function singleAnswer(
  health: HealthChecks,
  question: HealthQuestion,
  name: string,
): Promise<HealthAnswer | undefined> {
  const { results } = await health.report(question)
  const found = results.find((result) => result.name === name)?.health
  if (found === undefined) return undefined
  return found.ok ? { ok: true, text: 'ok' } : { ok: false, text: `internal server error: ${found.reason}\n` }
}

const plainText = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
