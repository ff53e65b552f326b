/**
 * Named health checks with reasons. Liveness ("would a restart help?") and readiness ("may I be sent work?") are kept
 * apart: a check that depends on the network belongs to readiness, or a lost link would restart the edge.
 * Reports read like those of an API server, so that existing probes and eyes understand them.
 */
import type { Clock } from '../runtime/clock.ts'

export type Health = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export const HEALTHY: Health = { ok: true }

export function unhealthy(reason: string): Health {
  return { ok: false, reason }
}

/** Answers at once or soon; throwing counts as failing with the error's message. */
export type HealthCheck = () => Health | Promise<Health>

/** `live` asks the liveness checks; `ready` asks them all, because what is not alive is not ready. */
export type HealthQuestion = 'live' | 'ready'

/** A check that has not answered by then has failed: a probe must get its answer before it gives up itself. */
export const HEALTH_CHECK_TIMEOUT_MS = 5_000

interface CheckResult {
  readonly name: string
  readonly health: Health
  readonly excluded: boolean
}

export interface HealthReport {
  readonly ok: boolean
  readonly results: readonly CheckResult[]
  /** Names that were to be excluded but that no check has. */
  readonly unknownExclusions: readonly string[]
}

interface RegisteredCheck {
  readonly name: string
  readonly check: HealthCheck
  readonly question: HealthQuestion
}

export class HealthChecks {
  readonly #checks = new Map<string, RegisteredCheck>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
    this.addLiveness('ping', () => HEALTHY)
  }

  /** Returns a function that removes the check. A name is taken once, whichever question it belongs to. */
  addLiveness(name: string, check: HealthCheck): () => void {
    return this.#add({ name, check, question: 'live' })
  }

  addReadiness(name: string, check: HealthCheck): () => void {
    return this.#add({ name, check, question: 'ready' })
  }

  async report(question: HealthQuestion, exclude: readonly string[] = []): Promise<HealthReport> {
    const asked = [...this.#checks.values()].filter((check) => question === 'ready' || check.question === 'live')
    const results = await Promise.all(
      asked.map(async ({ name, check }): Promise<CheckResult> => {
        if (exclude.includes(name)) return { name, health: HEALTHY, excluded: true }
        return { name, health: await this.#ask(check), excluded: false }
      }),
    )
    return {
      ok: results.every((result) => result.health.ok),
      results,
      unknownExclusions: exclude.filter((name) => !asked.some((check) => check.name === name)),
    }
  }

  #add(check: RegisteredCheck): () => void {
    if (this.#checks.has(check.name)) throw new Error(`there already is a health check named "${check.name}"`)
    this.#checks.set(check.name, check)
    return () => void this.#checks.delete(check.name)
  }

  async #ask(check: HealthCheck): Promise<Health> {
    let cancel = (): void => {}
    const tooLate = new Promise<Health>((resolve) => {
      const late = unhealthy(`no answer within ${HEALTH_CHECK_TIMEOUT_MS / 1000} s`)
      cancel = this.#clock.schedule(HEALTH_CHECK_TIMEOUT_MS, () => resolve(late))
    })
    try {
      return await Promise.race([check(), tooLate])
    } catch (error) {
      return unhealthy(error instanceof Error ? error.message : String(error))
    } finally {
      cancel()
    }
  }
}

/** `ok`, or one line per check when asked to be verbose or when something is wrong. `endpoint` is `readyz` and the like. */
export function renderHealth(endpoint: string, report: HealthReport, verbose: boolean): string {
  if (report.ok && !verbose) return 'ok'
  const lines = report.results.map(renderResult)
  for (const name of report.unknownExclusions) lines.push(`warn: there is no check named "${name}" to exclude`)
  lines.push(`${endpoint} check ${report.ok ? 'passed' : 'failed'}`)
  return `${lines.join('\n')}\n`
}

function renderResult({ name, health, excluded }: CheckResult): string {
  if (excluded) return `[+]${name} excluded: ok`
  return health.ok ? `[+]${name} ok` : `[-]${name} failed: ${oneLine(health.reason)}`
}

/** A reason with a line break in it must not look like another check. */
function oneLine(reason: string): string {
  return reason.replaceAll(/\s*[\r\n]+\s*/g, ' ')
}
