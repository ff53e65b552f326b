import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { streamOf } from '../../../test/worlds/byte-sources.ts'
import { rest } from '../../../test/worlds/object-server.ts'
import { BytesSource } from '../../http/body/bytes-source.ts'
import { headerListOf, RequestHeaders } from '../../http/server/exchange.ts'
import { parseRequestInfo } from '../../kube/request-info.ts'
import { parseQuery } from '../../kube/request-query.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'
import type { ReplicaRequest } from './replica-request.ts'
import { TokenAnswers, tokenRequestOf } from './token-answers.ts'

const path = '/api/v1/namespaces/default/serviceaccounts/web/token'

function asking(body: string, query = '', header: readonly string[] = []): ReplicaRequest {
  return {
    method: 'POST',
    info: parseRequestInfo({ method: 'POST', path, query }),
    query: parseQuery(query),
    headers: new RequestHeaders(headerListOf([...header])),
    reader: { kind: 'node', pool: 'node', token: undefined, tokenHash: '' },
    signal: new AbortController().signal,
    readBody: () => Promise.resolve(Buffer.from(body)),
    up: () => Promise.resolve(issued()),
  }
}

function issued(): UpstreamAnswer {
  const body = new BytesSource(Buffer.from(JSON.stringify({ status: { token: 'a.b.c' } })))
  return { status: 201, headers: [['content-type', 'application/json']], body, trailers: () => [] }
}

/** Whether the answer to it is given again without the API server, for a pod that is there. */
async function isKept(body: string, isPodThere = true): Promise<boolean> {
  const tokens = new TokenAnswers({ isPodThere: () => isPodThere })
  const asked = tokenRequestOf(asking(body))
  if (asked === undefined) return expect.unreachable('this is a request for a token')
  await text(streamOf((await tokens.pass(asked, asking(body))).body))
  await rest()
  return await tokens.answer(asked, asking(body)).then(
    () => true,
    () => false,
  )
}

describe('a token for a pod', () => {
  const bound = { kind: 'Pod', name: 'web-1', uid: 'uid-1' }

  it.each([
    ['as kubelets ask', { audiences: ['a'], expirationSeconds: 3607, boundObjectRef: bound }],
    ['without anything', {}],
  ])('is given again to the same question, %s', async (_how, spec) => {
    expect(await isKept(JSON.stringify({ spec }))).toBe(true)
  })

  it('is not given again for a pod that is gone', async () => {
    expect(await isKept(JSON.stringify({ spec: { boundObjectRef: bound } }), false)).toBe(false)
  })

  it.each([
    '{"spec":{"audiences":[99999999999999999999]}}',
    '{"spec":{"expirationSeconds":99999999999999999999}}',
    '{"spec":{"boundObjectRef":7}}',
  ])('is no reason to fail where the question is odd: %s', async (body) => {
    expect(await isKept(body)).toBe(true)
  })

  it.each([
    ['no spec', '{"spec":null}'],
    ['a list for a name', '{"spec":{"boundObjectRef":{"kind":"Pod","uid":[1]}}}'],
    ['depth without end', `{"spec":{"audiences":${'['.repeat(30_000)}${']'.repeat(30_000)}}}`],
    ['no JSON', '{'],
  ])('is only passed on where the question has %s', async (_what, body) => {
    expect(await isKept(body)).toBe(false)
  })

  it.each([
    ['somebody else', asking('{"spec":{}}', '', ['Impersonate-User', 'jane'])],
    ['nobody, for a try', asking('{"spec":{}}', 'dryRun=All')],
    ['another reader than the node', { ...asking('{"spec":{}}'), reader: { kind: 'token' } as never }],
  ])('is not kept for %s', (_whom, request) => {
    expect(tokenRequestOf(request)).toBeUndefined()
  })
})
