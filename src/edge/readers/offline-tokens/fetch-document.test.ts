import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { sourceOf } from '../../../../test/worlds/byte-sources.ts'
import { ManualClock } from '../../../runtime/clock.ts'
import type { UpstreamRequest } from '../../upstream/upstream.ts'
import { createFetchDocument, DOCUMENT_TIMEOUT_MS } from './fetch-document.ts'

const never = new AbortController().signal

function world(answer: (request: UpstreamRequest) => Promise<Readable>, token: string | undefined) {
  const clock = new ManualClock()
  const requests: UpstreamRequest[] = []
  const request = async (asked: UpstreamRequest) => {
    requests.push(asked)
    return { status: 200, headers: [], body: sourceOf(await answer(asked)), trailers: () => [] }
  }
  return { clock, requests, fetch: createFetchDocument({ upstream: { request }, token: () => token, clock }) }
}

describe('a document of the API server', () => {
  it('is asked for under a token, or else as the node', async () => {
    const withToken = world(async () => Readable.from([Buffer.from('{"a":1}')]), 'secret')
    expect(await withToken.fetch('/openid/v1/jwks', 100, never)).toEqual({ status: 200, text: '{"a":1}' })
    expect(withToken.requests[0]).toMatchObject({ pool: 'token', method: 'GET', target: '/openid/v1/jwks' })
    expect(withToken.requests[0]?.headers).toContainEqual(['authorization', 'Bearer secret'])
    const without = world(async () => Readable.from([Buffer.from('{}')]), undefined)
    await without.fetch('/openid/v1/jwks', 100, never)
    expect(without.requests[0]?.pool).toBe('node')
    expect(without.clock.pending).toBe(0)
  })

  it('has a limit of size and of time', async () => {
    const long = world(async () => Readable.from([Buffer.alloc(60), Buffer.alloc(60)]), undefined)
    await expect(long.fetch('/x', 100, never)).rejects.toThrow('/x is longer than 100 bytes')
    const silent = world(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
      undefined,
    )
    const asked = expect(silent.fetch('/x', 100, never)).rejects.toThrow('no answer to /x within 10 s')
    await silent.clock.advance(DOCUMENT_TIMEOUT_MS)
    await asked
  })
})
