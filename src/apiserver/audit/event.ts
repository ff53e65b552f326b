/**
 * An audit event of level Metadata: who asked for what, when, and what came of it. Never a body, a header but the user
 * agent, or a token: level Metadata has no place for them.
 */
import { presentFields } from '../../kube/present-fields.ts'
import type { RequestInfo } from '../../kube/request-info.ts'
import type { Status } from '../../kube/status/status.ts'
import type { RequestContext } from '../request/handler.ts'
import type { UserInfo } from '../request/user.ts'

/** A request that has only arrived is not told: everything worth knowing comes with its answer. */
export type AuditStage = 'ResponseStarted' | 'ResponseComplete'

interface AuditUser {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: UserInfo['extra']
}

interface ObjectReference {
  readonly resource: string
  readonly namespace?: string
  readonly name?: string
  readonly apiGroup?: string
  readonly apiVersion: string
  readonly subresource?: string
}

/** The fields in the order in which API servers print them. */
export interface AuditEvent {
  readonly kind: 'Event'
  readonly apiVersion: 'audit.k8s.io/v1'
  readonly level: 'Metadata'
  readonly auditID: string
  readonly stage: AuditStage
  readonly requestURI: string
  readonly verb: string
  readonly user: AuditUser
  readonly impersonatedUser?: AuditUser
  readonly sourceIPs: readonly string[]
  readonly userAgent?: string
  readonly objectRef?: ObjectReference
  readonly responseStatus?: Partial<Status> & { readonly metadata: object; readonly code: number }
  readonly requestReceivedTimestamp: string
  readonly stageTimestamp: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** Longer ones say nothing more about who asked. */
const MAX_USER_AGENT_CHARACTERS = 1024
/** Of what was asked for: a path and a selector of some length. Requests may have sixteen times as much. */
export const MAX_AUDITED_TARGET_CHARACTERS = 4096
/** Of each part of the path, each message and each reason, which may quote what was asked for. */
export const MAX_AUDITED_TEXT_CHARACTERS = 1024
/** Of what was wrong with an object: the first of it. */
export const MAX_AUDITED_CAUSES = 4

export function auditEvent(context: RequestContext, stage: AuditStage, nowMs: number): AuditEvent {
  const { exchange, info, answer, impersonator, decision } = context
  const userAgent = exchange.headers.get('user-agent')?.slice(0, MAX_USER_AGENT_CHARACTERS)
  return presentFields({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: context.auditId,
    stage,
    requestURI: shortened(exchange.target, MAX_AUDITED_TARGET_CHARACTERS),
    verb: shortened(info.verb),
    // Whoever was not let in is nobody.
    user: answer?.status === 401 ? {} : userFields(impersonator ?? context.user),
    impersonatedUser: impersonator && userFields(context.user),
    sourceIPs: [exchange.peer.address],
    userAgent,
    ...referenceFields(info, context.createdName),
    responseStatus: answer === undefined ? undefined : { metadata: {}, ...failureFields(context), code: answer.status },
    requestReceivedTimestamp: microTime(context.receivedMs),
    stageTimestamp: microTime(nowMs),
    annotations:
      decision === undefined
        ? undefined
        : {
            'authorization.k8s.io/decision': decision.verdict === 'allow' ? 'allow' : 'forbid',
            'authorization.k8s.io/reason': shortened(decision.reason),
          },
  })
}

function userFields({ name, uid, groups, extra }: UserInfo): AuditUser {
  return presentFields({
    username: name,
    uid: uid || undefined,
    groups: groups.length === 0 ? undefined : groups,
    extra: Object.keys(extra).length === 0 ? undefined : extra,
  })
}

function referenceFields(info: RequestInfo, createdName = ''): { objectRef?: ObjectReference } {
  if (info.kind === 'non-resource') return {}
  const { resource, namespace, apiGroup, apiVersion, subresource } = info
  const name = info.name || createdName
  const objectRef = presentFields({
    resource: shortened(resource),
    namespace: shortened(namespace) || undefined,
    name: shortened(name) || undefined,
    apiGroup: shortened(apiGroup) || undefined,
    apiVersion: shortened(apiVersion),
    subresource: shortened(subresource) || undefined,
  })
  return { objectRef }
}

/** Resources of whose refusals only status and reason are written down: the rest may quote what was sent. */
const secretResources = new Set(['secrets', 'tokenreviews'])

function failureFields({ failure, info }: RequestContext): Partial<Status> {
  if (failure === undefined) return {}
  const { status, message, reason, details } = failure
  const mayQuote = info.kind === 'resource' && secretResources.has(info.resource)
  return presentFields({
    status,
    message: message === undefined || mayQuote ? undefined : shortened(message),
    reason,
    details: details === undefined || mayQuote ? undefined : shortDetails(details),
  })
}

/** Every text in it, and no more causes than anybody reads. */
function shortDetails(details: NonNullable<Status['details']>): NonNullable<Status['details']> {
  const causes = details.causes?.slice(0, MAX_AUDITED_CAUSES).map(shortTexts)
  return presentFields({ ...shortTexts(details), causes })
}

function shortTexts<T extends object>(value: T): T {
  const entries = Object.entries(value).map(([key, each]) => [key, typeof each === 'string' ? shortened(each) : each])
  return Object.fromEntries(entries) as T
}

/** Whoever asks chooses how long it is, and each request leaves a line. */
function shortened(text: string, maxCharacters = MAX_AUDITED_TEXT_CHARACTERS): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}...`
}

/** The API's MicroTime; our clock knows milliseconds. */
function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z')
}
