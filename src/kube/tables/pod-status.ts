/**
 * What kubectl shows as the status of a pod. There is no such field: it is read off the phase, the conditions and the
 * containers, and the rules below decide which of them speaks loudest.
 */
import { at, conditionAt, flagAt, hasTrueCondition, integerAt, listAt, textAt, timeMsAt } from './paths.ts'

export interface PodSummary {
  readonly readyContainers: number
  readonly totalContainers: number
  readonly status: string
  readonly restarts: number
  /** When a container last ended and was started again, as far as known. */
  readonly lastRestartMs: number | undefined
}

export function summarisePod(pod: unknown): PodSummary {
  const sidecars = sidecarNames(pod)
  const initialization = readInitContainers(pod, sidecars)
  const containers = listAt(pod, 'spec', 'containers').length
  const totalContainers = containers + sidecars.size
  const reason = initialization.reason ?? podReason(pod)
  if (initialization.reason !== undefined && !hasTrueCondition(pod, 'Initialized')) {
    const { readyContainers, restarts } = initialization
    return { readyContainers, totalContainers, status: statusWithDeletion(pod, reason), ...restarts.figures }
  }
  const main = readContainers(pod, reason, initialization.sidecarRestarts)
  return {
    readyContainers: initialization.readyContainers + main.readyContainers,
    totalContainers,
    status: statusWithDeletion(pod, main.status),
    ...main.restarts.figures,
  }
}

/** Counts restarts and remembers the latest end of a container that was started again. */
class RestartTally {
  #restarts = 0
  #lastRestartMs: number | undefined

  get figures(): Pick<PodSummary, 'restarts' | 'lastRestartMs'> {
    return { restarts: this.#restarts, lastRestartMs: this.#lastRestartMs }
  }

  add(container: unknown): void {
    this.#restarts += integerAt(container, 'restartCount')
    const endedMs = timeMsAt(container, 'lastState', 'terminated', 'finishedAt')
    if (endedMs !== undefined && endedMs > (this.#lastRestartMs ?? Number.NEGATIVE_INFINITY)) {
      this.#lastRestartMs = endedMs
    }
  }
}

interface Initialization {
  /** Sidecars only: other init containers are never ready. */
  readonly readyContainers: number
  /** Why the initialization has not come to its end; undefined when it has. */
  readonly reason: string | undefined
  readonly restarts: RestartTally
  readonly sidecarRestarts: RestartTally
}

/** Init containers that are restarted for ever run beside the main ones and count as containers of the pod. */
function sidecarNames(pod: unknown): Set<string> {
  const always = listAt(pod, 'spec', 'initContainers').filter(
    (container) => textAt(container, 'restartPolicy') === 'Always',
  )
  return new Set(always.map((container) => textAt(container, 'name')))
}

function readInitContainers(pod: unknown, sidecars: ReadonlySet<string>): Initialization {
  const restarts = new RestartTally()
  const sidecarRestarts = new RestartTally()
  let readyContainers = 0
  for (const [index, container] of listAt(pod, 'status', 'initContainerStatuses').entries()) {
    const isSidecar = sidecars.has(textAt(container, 'name'))
    restarts.add(container)
    if (isSidecar) sidecarRestarts.add(container)
    const terminated = at(container, 'state', 'terminated')
    if (terminated !== undefined && integerAt(terminated, 'exitCode') === 0) continue
    if (isSidecar && flagAt(container, 'started')) {
      if (flagAt(container, 'ready')) readyContainers++
      continue
    }
    const total = listAt(pod, 'spec', 'initContainers').length
    const reason = `Init:${initReason(container) ?? `${index}/${total}`}`
    return { readyContainers, reason, restarts, sidecarRestarts }
  }
  return { readyContainers, reason: undefined, restarts, sidecarRestarts }
}

/** Why this init container holds up the others; undefined when it is simply running or about to. */
function initReason(container: unknown): string | undefined {
  const terminated = at(container, 'state', 'terminated')
  if (terminated !== undefined) return endReason(terminated)
  const waiting = textAt(container, 'state', 'waiting', 'reason')
  return waiting === '' || waiting === 'PodInitializing' ? undefined : waiting
}

function endReason(terminated: unknown): string {
  const reason = textAt(terminated, 'reason')
  if (reason !== '') return reason
  const signal = integerAt(terminated, 'signal')
  return signal === 0 ? `ExitCode:${integerAt(terminated, 'exitCode')}` : `Signal:${signal}`
}

interface MainContainers {
  readonly readyContainers: number
  readonly status: string
  readonly restarts: RestartTally
}

/** The first container with something to say wins, so they are read from the last to the first. */
function readContainers(pod: unknown, reason: string, restarts: RestartTally): MainContainers {
  let status = reason
  let failure: string | undefined
  let readyContainers = 0
  for (const container of listAt(pod, 'status', 'containerStatuses').toReversed()) {
    restarts.add(container)
    const waiting = textAt(container, 'state', 'waiting', 'reason')
    const terminated = at(container, 'state', 'terminated')
    if (waiting !== '') status = waiting
    else if (terminated !== undefined) {
      status = endReason(terminated)
      if (integerAt(terminated, 'exitCode') !== 0) failure = status
    } else if (flagAt(container, 'ready') && at(container, 'state', 'running') !== undefined) readyContainers++
  }
  if (status === 'Completed') status = completedStatus(pod, readyContainers > 0, failure)
  return { readyContainers, status, restarts }
}

/** `Completed` of one container says nothing about the others. */
function completedStatus(pod: unknown, somethingRuns: boolean, failure: string | undefined): string {
  if (somethingRuns && hasTrueCondition(pod, 'Ready')) return 'Running'
  if (failure !== undefined) return failure
  return somethingRuns ? 'NotReady' : 'Completed'
}

function podReason(pod: unknown): string {
  const gated = textAt(conditionAt(pod, 'PodScheduled'), 'reason') === 'SchedulingGated'
  if (gated) return 'SchedulingGated'
  return textAt(pod, 'status', 'reason') || textAt(pod, 'status', 'phase')
}

function statusWithDeletion(pod: unknown, status: string): string {
  if (at(pod, 'metadata', 'deletionTimestamp') === undefined) return status
  if (textAt(pod, 'status', 'reason') === 'NodeLost') return 'Unknown'
  return ['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase')) ? status : 'Terminating'
}
