/** Answers whose bytes the endpoint takes from where they come, without a stream of their own around them. */
import { once } from 'node:events'
import { type ClientHttp2Session, constants } from 'node:http2'
import { PassThrough, Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type UpstreamAnswer, UpstreamError } from '../../../src/edge/upstream/upstream.ts'
import { brokenBy } from '../../../src/edge/upstream/upstream-error.ts'
import { ReadableSource, type ReadableSourceOptions } from '../../../src/http/body/readable-source.ts'
import { type EndpointWorld, startEndpoint, text } from '../../worlds/endpoint-world.ts'

const broken = new UpstreamError('broken', 'the connection broke')

function answerFrom(stream: Readable, options: Partial<ReadableSourceOptions> = {}): UpstreamAnswer {
  return {
    status: 200,
    headers: [['content-type', 'application/json']],
    body: new ReadableSource(stream, { broken: brokenBy, ...options }),
    trailers: () => [],
  }
}

async function ended(): Promise<Readable> {
  const stream = Readable.from([]).resume()
  await once(stream, 'end')
  return stream
}

async function destroyed(): Promise<Readable> {
  const stream = new PassThrough().destroy()
  await once(stream, 'close')
  return stream
}

describe('an answer that the endpoint takes from its source', () => {
  let world: EndpointWorld
  let session: ClientHttp2Session

  beforeAll(async () => {
    world = await startEndpoint()
    session = world.http2()
  })

  afterAll(async () => {
    session.destroy()
    await world.stop()
  })

  it.each([
    ['comes whole', (): Readable => Readable.from([Buffer.from('{'), Buffer.from('}')]), '{}'],
    ['may have ended before it is looked at', ended, ''],
  ])('%s', async (_what, make, expected) => {
    const stream = await make()
    world.upstream.handle = () => answerFrom(stream)
    expect((await world.http1({ path: '/api' })).body).toBe(expected)
    const again = await make()
    world.upstream.handle = () => answerFrom(again)
    expect(await text(session.request({ ':path': '/api' }))).toBe(expected)
  })

  it.each([
    ['ends, but not well', (): Readable => Readable.from([Buffer.from('{')]), { fault: () => broken }],
    ['had ended before it is looked at, but not well', ended, { fault: () => broken }],
    ['is gone before it is looked at', destroyed, {}],
  ])('is cut off for the client where it %s', async (_what, make, options) => {
    const stream = await make()
    world.upstream.handle = () => answerFrom(stream, options)
    await expect(text(session.request({ ':path': '/api' }))).rejects.toThrow('NGHTTP2_INTERNAL_ERROR')
  })

  it('is cancelled once when the client leaves, and not at all when it is complete', async () => {
    let cancelled = 0
    const cancel = (): void => {
      cancelled += 1
    }
    world.upstream.handle = () => answerFrom(Readable.from([Buffer.from('{}')]), { cancel })
    const complete = session.request({ ':path': '/api' })
    const closed = once(complete, 'close')
    expect(await text(complete)).toBe('{}')
    await closed
    const open = new PassThrough()
    const gone = new Promise<void>((resolve) => {
      world.upstream.handle = () =>
        answerFrom(open, {
          cancel: () => {
            cancel()
            open.destroy()
            resolve()
          },
        })
    })
    const left = session.request({ ':path': '/api' })
    await once(left, 'response')
    left.close(constants.NGHTTP2_CANCEL)
    await gone
    expect(cancelled).toBe(1)
  })
})
