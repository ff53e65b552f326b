/**
 * Reads that were decided on this node leave a line in its log, since the audit log of the API server knows nothing of them: all
 * of objects and documents while offline, and online the lists and watches that came from feeds. Never a token, nor anything that was read.
 */
import type { RequestInfo } from '../../kube/request-info.ts'
import type { Clock } from '../../runtime/clock.ts'
import { LineLimit } from '../../telemetry/line-limit.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** What one may read along; programs that read more often are counted in the next line. */
const AUDIT_LINES_PER_SECOND = 20
/** As many at once: all programs of a node begin with some lists when the node starts. */
export const AUDIT_LINES_BURST = 500

export interface DecidedRead {
  readonly user: string
  readonly info: RequestInfo
  readonly code: number
  readonly source: 'feed' | 'offline'
  /** Since when the API server cannot be reached, where it cannot. */
  readonly offlineSinceMs?: number
}

export class ReadAudit {
  readonly #logger: Logger
  readonly #lines: LineLimit

  constructor(clock: Clock, logger: Logger) {
    this.#logger = logger
    this.#lines = new LineLimit(clock, AUDIT_LINES_PER_SECOND, AUDIT_LINES_BURST)
  }

  decided({ user, info, code, source, offlineSinceMs }: DecidedRead): void {
    const admitted = this.#lines.admit()
    if (admitted === undefined) return
    const since = offlineSinceMs === undefined ? undefined : new Date(offlineSinceMs).toISOString()
    this.#logger.info(
      { user, ...wordsOf(info), code, source, since, ...admitted },
      'a request was answered on this node',
    )
  }
}

/** What was asked for. */
function wordsOf(info: RequestInfo): object {
  if (info.kind === 'non-resource') return { verb: info.verb, path: info.path }
  const { verb, apiGroup, resource, subresource, isInNamespace, namespace, name } = info
  const plain = subresource === '' ? resource : `${resource}/${subresource}`
  return {
    verb,
    resource: apiGroup === '' ? plain : `${plain}.${apiGroup}`,
    namespace: isInNamespace ? namespace : undefined,
    name: name === '' ? undefined : name,
  }
}
