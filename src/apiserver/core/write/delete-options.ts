/** DeleteOptions come in the body, in the query, or not at all. */

import { decodeProtobuf, parseJson } from '../../../kube/codec/index.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { hasEnvelope } from '../../../kube/protobuf/envelope.ts'
import type { RequestQuery } from '../../../kube/request-query.ts'
import { findKind } from '../../../kube/schema/schema.ts'
import { badRequest } from '../../../kube/status/index.ts'
import type { RequestContext } from '../../chain/handler.ts'
import { inOrder, MAX_QUESTION_BYTES, readBodyBytes } from '../decode-body.ts'
import { integerParameter } from '../query-values.ts'
import type { DeleteOptions } from './delete.ts'
import { readDryRun } from './write-request.ts'

export interface ReadDeleteOptions {
  readonly options: DeleteOptions
  readonly dryRun: boolean
}

export async function readDeleteOptions(context: RequestContext): Promise<ReadDeleteOptions> {
  const body = await readBodyBytes(context, MAX_QUESTION_BYTES)
  if (body.length === 0) return fromQuery(context.query)
  const message = findKind('v1', 'DeleteOptions')?.message
  if (message === undefined) throw new Error('the schema has no DeleteOptions')
  const object = hasEnvelope(body) ? decodeProtobuf(body).object : (parse(body) as KubeObject)
  const expected = { apiVersion: 'v1', kind: 'DeleteOptions', message }
  const options = inOrder(object, expected) as unknown as DeleteOptions & { dryRun?: string[] }
  return { options, dryRun: readDryRun(options.dryRun ?? []) }
}

function parse(body: Buffer): unknown {
  try {
    return parseJson(body.toString('utf8'))
  } catch (error) {
    throw badRequest(`couldn't get version/kind; json parse error: ${(error as Error).message}`)
  }
}

function fromQuery(query: RequestQuery): ReadDeleteOptions {
  const gracePeriodSeconds = integerParameter(query, 'gracePeriodSeconds')
  const policy = query.first('propagationPolicy')
  return {
    options: {
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      ...(policy === undefined ? {} : { propagationPolicy: readPolicy(policy) }),
    },
    dryRun: readDryRun(query.all('dryRun')),
  }
}

function readPolicy(text: string): 'Orphan' | 'Background' | 'Foreground' {
  if (text === 'Orphan' || text === 'Background' || text === 'Foreground') return text
  throw badRequest(
    `propagationPolicy: Unsupported value: ${JSON.stringify(text)}: supported values: "Background", "Foreground", "Orphan"`,
  )
}
