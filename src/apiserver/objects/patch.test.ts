import { describe, expect, it } from 'vitest'
import { RequestHeaders } from '../../http/server/exchange.ts'
import { parseQuery } from '../../kube/request-query.ts'
import { findKind } from '../../kube/schema/schema.ts'
import { ApiError } from '../../kube/status/status.ts'
import type { RequestContext } from '../request/handler.ts'
import { patchObject, readPatch } from './patch.ts'

const types = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const

/** The patched object and the warnings, or the refusal. */
async function patched(kind: string, type: keyof typeof types, patch: unknown, fieldValidation = '') {
  const text = typeof patch === 'string' ? patch : JSON.stringify(patch)
  const context = {
    exchange: {
      headers: new RequestHeaders([['content-type', types[type]]]),
      readBody: () => Promise.resolve(Buffer.from(text)),
    },
    query: parseQuery(`fieldValidation=${fieldValidation}`),
    turn: () => undefined,
  } as unknown as RequestContext
  const expected = findKind('v1', kind)
  if (expected === undefined) throw new Error(`no ${kind}`)
  const body = await readPatch(context)
  try {
    const old = { kind, apiVersion: 'v1', metadata: { name: 'x' }, data: { a: 'MQ==' } }
    const { object, warnings } = patchObject(body, old, expected)
    return { object, warnings }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { code: error.status.code, reason: error.status.reason, message: error.status.message ?? '' }
  }
}

const added = { op: 'add', path: '/data/b', value: 'x' }

describe('a patch', () => {
  it('gives the wanted object', async () => {
    for (const [type, patch] of [
      ['json', [added]],
      ['merge', { data: { b: 'x' } }],
      ['strategic', { data: { b: 'x' } }],
    ] as const) {
      const { object, warnings } = await patched('ConfigMap', type, patch)
      expect([type, object?.['data'], warnings]).toEqual([type, { a: 'MQ==', b: 'x' }, []])
    }
  })

  it.each([
    ['json', [{ ...added, extra: 1 }], 'json patch unknown field "[0].extra"'],
    ['json', '[{"op":"add","op":"add","path":"/data/b","value":"x"}]', 'json patch duplicate field "[0].op"'],
    ['json', [{ op: 'add', path: '/bogus', value: 1 }], 'unknown field "bogus"'],
    ['merge', { bogus: 1 }, 'unknown field "bogus"'],
    ['strategic', '{"data":{"b":"x","b":"y"}}', 'duplicate field "data.b"'],
  ] as const)('%s %j warns, is refused if strict, and passes if nobody wants to know', async (type, patch, problem) => {
    expect(await patched('ConfigMap', type, patch)).toMatchObject({ warnings: [problem] })
    expect(await patched('ConfigMap', type, patch, 'Ignore')).toMatchObject({ warnings: [] })
    const refusal = await patched('ConfigMap', type, patch, 'Strict')
    expect(refusal).toMatchObject({ code: 422, reason: 'Invalid' })
    expect(refusal.message).toMatch(/^ "" is invalid: patch: Invalid value: /)
    expect(refusal.message?.endsWith(`: strict decoding error: ${problem}`)).toBe(true)
  })

  it('is refused when its result is no object of the kind, with the result or the strategic patch', async () => {
    const merged = await patched('ConfigMap', 'merge', { data: 5 })
    expect(merged).toMatchObject({ code: 422, reason: 'Invalid' })
    expect(merged.message).toContain(String.raw`\"data\":5`)
    expect((await patched('ConfigMap', 'strategic', { data: 5 })).message).toContain('Invalid value: "map[data:5]": ')
  })

  it('cannot make another kind of an object', async () => {
    const { code, message } = await patched('ConfigMap', 'merge', { kind: 'Pod' })
    expect(code).toBe(422)
    expect(message).toContain('no kind "Pod" is registered for version "v1"')
    expect(await patched('ConfigMap', 'strategic', { kind: 'Pod' })).toMatchObject({ object: { kind: 'ConfigMap' } })
  })

  it('shows nothing of a Secret', async () => {
    const { message } = await patched('Secret', 'merge', { type: 5 })
    expect(message).toContain('Invalid value: "(not shown)"')
    expect(message).not.toContain('MQ==')
  })
})
