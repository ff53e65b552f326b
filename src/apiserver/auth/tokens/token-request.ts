/** Answers TokenRequests: a token for a ServiceAccount, if all that it shall speak of exists. */
import { formatTime } from '../../../kube/codec/time.ts'
import type { KubeObject, ObjectMeta } from '../../../kube/objects.ts'
import { type FieldError, invalidField, OMITTED_VALUE } from '../../../kube/status/field-error.ts'
import type { GroupKind } from '../../../kube/status/group-names.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { conflict, invalid } from '../../../kube/status/resource-errors.ts'
import type { Clock } from '../../../runtime/clock.ts'
import {
  type BoundObjectReference,
  claimed,
  existing,
  findBoundObjects,
  type ServiceAccountName,
} from './bound-object.ts'
import type { FindObject } from './find-object.ts'
import type { TokenIssuer } from './issuer.ts'

/** The life of a token whose request names none: long enough for a session at a terminal. */
const DEFAULT_TOKEN_LIFE_SECONDS = 60 * 60
/** Tokens are renewed while some life is left; a shorter one would be renewed all the time. */
const MIN_TOKEN_LIFE_SECONDS = 10 * 60
/** 2^32 seconds, 136 years: more is a mistake in units. */
const MAX_TOKEN_LIFE_SECONDS = 4_294_967_296

const kind: GroupKind = { group: 'authentication.k8s.io', kind: 'TokenRequest' }

export interface TokenRequest extends KubeObject {
  readonly spec?: {
    readonly audiences?: readonly string[] | null
    /** A bigint when the client sends more than a number can hold. */
    readonly expirationSeconds?: number | bigint | null
    readonly boundObjectRef?: BoundObjectReference | null
  }
}

export interface TokenRequestParts {
  readonly issuer: TokenIssuer
  readonly find: FindObject
  readonly clock: Clock
  /** The last word on the completed request; throws to refuse it. */
  readonly validate: (request: KubeObject) => Promise<void>
}

export async function answerTokenRequest(
  request: TokenRequest,
  account: ServiceAccountName,
  { issuer, find, clock, validate }: TokenRequestParts,
): Promise<KubeObject> {
  checkNames(request.metadata ?? {}, account)
  const serviceAccount = claimed(await existing('serviceaccounts', account.namespace, account.name, find))
  checkUid(request.metadata ?? {}, account.name, serviceAccount.uid)
  const issuedAtMs = clock.nowMs()
  const metadata = {
    ...request.metadata,
    ...account,
    uid: serviceAccount.uid,
    creationTimestamp: timeAfter(issuedAtMs, 0),
  }
  const { audiences, lifeSeconds, boundObjectRef } = completeSpec(request, issuer.apiAudiences)
  const spec = { audiences, expirationSeconds: lifeSeconds, boundObjectRef }
  const completed: KubeObject = { ...request, metadata, spec, status: {} }
  await validate(completed)
  const bound = boundObjectRef === null ? {} : await findBoundObjects(boundObjectRef, account, find)
  const { namespace } = account
  const token = await issuer.issue({ namespace, serviceAccount, audiences, lifeSeconds, bound, issuedAtMs })
  // Clients renew by this time: it stays the asked one even where the token itself is good for longer.
  return { ...completed, status: { token, expirationTimestamp: timeAfter(issuedAtMs, lifeSeconds) } }
}

interface CompleteSpec {
  readonly audiences: readonly string[]
  readonly lifeSeconds: number
  readonly boundObjectRef: BoundObjectReference | null
}

function completeSpec({ spec = {} }: TokenRequest, apiAudiences: readonly string[]): CompleteSpec {
  const { expirationSeconds, boundObjectRef } = spec
  const audiences = spec.audiences ?? []
  const lifeSeconds = expirationSeconds ?? DEFAULT_TOKEN_LIFE_SECONDS
  const errors = lifeErrors(lifeSeconds)
  if (errors.length > 0) throw invalid(kind, '', errors)
  return {
    audiences: audiences.length === 0 ? apiAudiences : audiences,
    lifeSeconds: Number(lifeSeconds),
    boundObjectRef: boundObjectRef ?? null,
  }
}

/** The number is part of the text, since the value of a field error cannot be a bigint. */
function lifeErrors(seconds: number | bigint): FieldError[] {
  const refuse = (why: string): FieldError[] => [
    invalidField('spec.expirationSeconds', OMITTED_VALUE, `${seconds}: may not specify a duration ${why}`),
  ]
  if (seconds < MIN_TOKEN_LIFE_SECONDS) return refuse('less than 10 minutes')
  return seconds > MAX_TOKEN_LIFE_SECONDS ? refuse('larger than 2^32 seconds') : []
}

/** A request may name its ServiceAccount again, but no other one. */
function checkNames({ name = '', namespace = '' }: ObjectMeta, account: ServiceAccountName): void {
  if (namespace !== '' && namespace !== account.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  if (name === '' || name === account.name) return
  const detail = 'must match the service account name if specified'
  throw invalid(kind, account.name, [invalidField('metadata.name', name, detail)])
}

function checkUid({ uid = '' }: ObjectMeta, name: string, accountUid: string): void {
  if (uid === '' || uid === accountUid) return
  const why = `the UID in the token request (${uid}) does not match the UID of the service account (${accountUid})`
  throw conflict({ group: kind.group, resource: kind.kind }, name, why)
}

function timeAfter(startMs: number, seconds: number): string {
  return formatTime(Math.floor(startMs / 1000) + seconds) ?? ''
}
