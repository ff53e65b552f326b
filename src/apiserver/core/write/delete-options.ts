/** DeleteOptions come in the body, in the query, or not at all. */

import { parseJson } from '../../../kube/codec/json.ts'
import { decodeProtobuf } from '../../../kube/codec/object-codec.ts'
import { flagParameter, integerParameter } from '../../../kube/collection/query-values.ts'
import { hasEnvelope } from '../../../kube/envelope.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import type { RequestQuery } from '../../../kube/request-query.ts'
import { findKind } from '../../../kube/schema/schema.ts'
import { type FieldError, invalidField, notSupportedField } from '../../../kube/status/field-error.ts'
import { badRequest } from '../../../kube/status/request-errors.ts'
import { inOrder, MAX_QUESTION_BYTES, readBodyBytes } from '../../objects/decode-body.ts'
import { dryRunErrors, refuse } from '../../objects/write-options.ts'
import type { RequestContext } from '../../request/handler.ts'
import type { DeleteOptions } from './delete.ts'

export interface ReadDeleteOptions {
  readonly options: DeleteOptions
  readonly dryRun: boolean
}

/** The propagation policies, in the order in which a refusal names them. */
const policies = ['Foreground', 'Background', 'Orphan'] as const

export async function readDeleteOptions(context: RequestContext): Promise<ReadDeleteOptions> {
  const body = await readBodyBytes(context, MAX_QUESTION_BYTES)
  const options = body.length === 0 ? fromQuery(context.query) : fromBody(body)
  refuse('DeleteOptions', [...policyErrors(options), ...dryRunErrors(options.dryRun)])
  return { options, dryRun: options.dryRun.length > 0 }
}

interface GivenOptions extends DeleteOptions {
  readonly dryRun: readonly string[]
}

function fromBody(body: Buffer): GivenOptions {
  const message = findKind('v1', 'DeleteOptions')?.message
  if (message === undefined) throw new Error('the schema has no DeleteOptions')
  const object = hasEnvelope(body) ? decodeProtobuf(body).object : parse(body)
  if ((object.kind ?? '') !== '' && object.kind !== 'DeleteOptions') {
    throw badRequest('decoded object cannot be converted to DeleteOptions')
  }
  const expected = { apiVersion: 'v1', kind: 'DeleteOptions', message }
  const options = inOrder(object, expected) as unknown as DeleteOptions & { dryRun?: string[] }
  return { ...options, dryRun: options.dryRun ?? [] }
}

/** The options in a JSON body; `null` is as good as none. */
function parse(body: Buffer): KubeObject {
  try {
    return (parseJson(body.toString('utf8')) ?? {}) as KubeObject
  } catch (error) {
    throw badRequest(`couldn't get version/kind; json parse error: ${(error as Error).message}`)
  }
}

function fromQuery(query: RequestQuery): GivenOptions {
  // An empty precondition is none.
  const [uid, resourceVersion] = [query.first('uid') || undefined, query.first('resourceVersion') || undefined]
  return {
    gracePeriodSeconds: integerParameter(query, 'gracePeriodSeconds'),
    propagationPolicy: query.first('propagationPolicy'),
    orphanDependents: flagParameter(query, 'orphanDependents'),
    preconditions: { uid, resourceVersion },
    dryRun: query.all('dryRun'),
  }
}

function policyErrors({ propagationPolicy, orphanDependents }: DeleteOptions): FieldError[] {
  if (propagationPolicy === undefined) return []
  const both = 'orphanDependents and deletionPropagation cannot be both set'
  return [
    ...(orphanDependents === undefined ? [] : [invalidField('propagationPolicy', propagationPolicy, both)]),
    ...(policies.some((policy) => policy === propagationPolicy)
      ? []
      : [notSupportedField('propagationPolicy', propagationPolicy, [...policies, 'nil'])]),
  ]
}
