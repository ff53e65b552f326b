/** Requests and answers that are malformed, each by its name: the stream ends with the right code, and the others go on. */
import { describe, expect, it } from 'vitest'
import { ErrorCode } from '../../../src/http/http2/wire.ts'
import {
  DATA,
  data,
  END_STREAM,
  getFields,
  HEADERS,
  head,
  naiveFrame,
  PADDED,
  postFields,
  RST_STREAM,
  resetStream,
  WINDOW_UPDATE,
  windowUpdate,
} from '../../worlds/http2-naive.ts'
import { contents } from '../../worlds/http2-pair.ts'
import { client, expectHealthy, okFields, resetsIn, server } from '../../worlds/http2-victims.ts'

const bytes = (count: number): Buffer => Buffer.alloc(count)

const brokenRequests: readonly (readonly [string, readonly string[]])[] = [
  ['a name in upper case', [...getFields, 'X-Name', '1']],
  ['an empty name', [...getFields, '', '1']],
  ['a name with a space', [...getFields, 'x y', '1']],
  ['a name with a colon in it', [...getFields, 'x:y', '1']],
  ['a line feed in a value', [...getFields, 'x', 'a\nb']],
  ['a carriage return in a value', [...getFields, 'x', 'a\rb']],
  ['a zero in a value', [...getFields, 'x', 'a\0b']],
  ['a space before a value', [...getFields, 'x', ' a']],
  ['a tab after a value', [...getFields, 'x', 'a\t']],
  ['the field connection', [...getFields, 'connection', 'close']],
  ['the field keep-alive', [...getFields, 'keep-alive', '1']],
  ['the field proxy-connection', [...getFields, 'proxy-connection', '1']],
  ['the field transfer-encoding', [...getFields, 'transfer-encoding', 'chunked']],
  ['the field upgrade', [...getFields, 'upgrade', 'h2c']],
  ['te that asks for more than trailers', [...getFields, 'te', 'gzip']],
  ['no method', getFields.slice(2)],
  ['an empty method', [':method', '', ...getFields.slice(2)]],
  ['a method of two words', [':method', 'GET x', ...getFields.slice(2)]],
  ['no scheme', [':method', 'GET', ':authority', 'a', ':path', '/']],
  ['an empty scheme', [':method', 'GET', ':scheme', '', ':authority', 'a', ':path', '/']],
  ['no path', getFields.slice(0, 6)],
  ['an empty path', [...getFields.slice(0, 6), ':path', '']],
  ['a path that begins with no slash', [...getFields.slice(0, 6), ':path', 'a']],
  ['a path with a space', [...getFields.slice(0, 6), ':path', '/a HTTP/1.1']],
  ['a path of everything for GET', [...getFields.slice(0, 6), ':path', '*']],
  ['a user in the authority', [':method', 'GET', ':scheme', 'https', ':authority', 'u@a', ':path', '/']],
  ['a space in the authority', [':method', 'GET', ':scheme', 'https', ':authority', 'a b', ':path', '/']],
  ['a slash in the authority', [':method', 'GET', ':scheme', 'https', ':authority', 'a/b', ':path', '/']],
  ['a pseudo field twice', [...getFields, ':path', '/']],
  ['a pseudo field behind others', ['x', '1', ...getFields]],
  ['an unknown pseudo field', [':protocol', 'websocket', ...getFields]],
  ['a pseudo field of answers', [':status', '200', ...getFields]],
  ['CONNECT with a path', [':method', 'CONNECT', ':authority', 'a', ':path', '/']],
  ['CONNECT to nowhere', [':method', 'CONNECT']],
  ['a content-length that is no number', [...getFields, 'content-length', '+1']],
  ['an empty content-length', [...getFields, 'content-length', '']],
  ['two content-lengths', [...getFields, 'content-length', '1', 'content-length', '2']],
  ['two content-lengths in one', [...getFields, 'content-length', '1, 1']],
]

describe('malformed requests', () => {
  it.each(brokenRequests)('%s', (_, fields) => {
    const victim = server()
    victim.attack(head(5, fields, END_STREAM), head(7, fields), data(7, bytes(10), END_STREAM))
    expect(resetsIn(victim)).toEqual({ 5: 'protocolError', 7: 'protocolError' })
    expect(victim.end.streams).toHaveLength(2)
    expectHealthy(victim)
  })

  it('a content-length without a body', () => {
    const victim = server()
    victim.attack(head(5, [...postFields, 'content-length', '1'], END_STREAM))
    expect(resetsIn(victim)).toEqual({ 5: 'protocolError' })
    expectHealthy(victim)
  })

  it.each([
    [
      'te for trailers, two equal content-lengths',
      [...getFields, 'te', 'trailers', 'content-length', '0', 'content-length', '0'],
    ],
    ['a path of everything for OPTIONS', [':method', 'OPTIONS', ':scheme', 'https', ':authority', 'a', ':path', '*']],
    ['an empty value, a tab within, and bytes beyond ASCII', [...getFields, 'x', '', 'y', 'a\tb', 'z', '\xe4']],
    [
      'a literal address with its port',
      [':method', 'GET', ':scheme', 'https', ':authority', '[::1]:6443', ':path', '/a?b=%20#c'],
    ],
  ])('%s is in order', (_, fields) => {
    const victim = server()
    victim.attack(head(5, fields, END_STREAM))
    expect(resetsIn(victim)).toEqual({})
    expect(victim.end.streams[2]?.fields).toEqual(fields)
  })

  it('a head beyond the limit is answered with its reason, and the connection goes on', () => {
    const victim = server({ maxHeadBytes: 2_000, maxHeadFields: 10 })
    const large = [...getFields, 'x', 'y'.repeat(3_000)]
    victim.attack(head(5, large, END_STREAM), head(7, large), head(9, [...getFields, ...Array<string>(20).fill('x')]))
    const answers = victim.answers()
    expect(answers.map(({ type, streamId }) => [type, streamId])).toEqual([
      [HEADERS, 5],
      [HEADERS, 7],
      [RST_STREAM, 7],
      [HEADERS, 9],
      [RST_STREAM, 9],
    ])
    expectHealthy(victim)
    expect(victim.end.session.openStreams).toBe(1)
  })
})

const streamAttacks: readonly (readonly [string, keyof typeof ErrorCode, readonly Buffer[]])[] = [
  [
    'data beyond the window of the stream',
    'flowControlError',
    [...Array<Buffer>(4).fill(Buffer.from(data(5, bytes(16_384))))],
  ],
  ['a window update of nothing', 'protocolError', [windowUpdate(5, 0)]],
  ['a window update beyond 31 bits', 'flowControlError', [windowUpdate(5, 2 ** 31 - 1)]],
  ['data after the end', 'streamClosed', [data(5, bytes(0), END_STREAM), data(5, bytes(1))]],
  ['an end after the end', 'streamClosed', [data(5, bytes(0), END_STREAM), data(5, bytes(0), END_STREAM)]],
  ['trailers after the end', 'streamClosed', [data(5, bytes(0), END_STREAM), head(5, ['x', '1'], END_STREAM)]],
  ['trailers that do not end', 'protocolError', [head(5, ['x', '1'])]],
  ['trailers with a pseudo field', 'protocolError', [head(5, [':path', '/'], END_STREAM)]],
  ['trailers with a field of HTTP/1.1', 'protocolError', [head(5, ['connection', 'close'], END_STREAM)]],
  ['a second request within the first', 'protocolError', [head(5, getFields, END_STREAM)]],
  ['trailers beyond the limit', 'protocolError', [head(5, Array<string>(900).fill('x'), END_STREAM)]],
]

describe('what ends one stream of a server', () => {
  it.each(streamAttacks)('%s: %s', (_, code, frames) => {
    const victim = server()
    // Nobody reads it, so that nothing comes back into its window.
    victim.end.accept = (_, stream) => stream.pause()
    victim.attack(head(5, postFields), ...frames)
    expect(resetsIn(victim)).toEqual({ 5: code })
    expect(victim.end.streams[2]).toMatchObject({ isClosed: true, hasEnd: false, resetCode: ErrorCode[code] })
    expectHealthy(victim)
  })

  it.each([
    ['more than it has announced', [data(5, contents(5, 'client', 0, 11))]],
    ['less than it has announced', [data(5, contents(5, 'client', 0, 9), END_STREAM)]],
    [
      'less than it has announced, and trailers',
      [data(5, contents(5, 'client', 0, 9)), head(5, ['x', '1'], END_STREAM)],
    ],
    [
      'more than it has announced, in small pieces',
      [data(5, contents(5, 'client', 0, 10)), data(5, contents(5, 'client', 10, 1), END_STREAM)],
    ],
  ])('a body that has %s', (_, frames) => {
    const victim = server()
    victim.attack(head(5, [...postFields, 'content-length', '10']), ...frames)
    expect(resetsIn(victim)).toEqual({ 5: 'protocolError' })
    expect(victim.end.streams[2]).toMatchObject({ isClosed: true, hasEnd: false })
    expectHealthy(victim)
  })

  it('a body of the announced length, with and without trailers, is complete', () => {
    const victim = server()
    const fields = [...postFields, 'content-length', '10']
    victim.attack(head(5, fields), data(5, contents(5, 'client', 0, 10), END_STREAM))
    victim.attack(head(7, fields), data(7, contents(7, 'client', 0, 10)), head(7, ['x', '1'], END_STREAM))
    expect(victim.end.streams.slice(2).map(({ trailers }) => trailers)).toEqual([[], ['x', '1']])
  })

  it('padding is read by nobody and comes back at once, also where the body waits', () => {
    const victim = server()
    victim.end.accept = (_, stream) => stream.pause()
    victim.attack(head(5, postFields))
    const padded = naiveFrame(DATA, PADDED, 5, Buffer.concat([Buffer.from([255, 7]), bytes(255)]))
    for (let count = 0; count < 1_000; count++) victim.attack(padded)
    expect(resetsIn(victim)).toEqual({})
    expect(victim.end.streams[2]?.isClosed).toBe(false)
  })

  it('a reset without an error closes a request at once, read or not', () => {
    const victim = server()
    victim.end.accept = (_, stream) => stream.pause()
    victim.attack(head(5, postFields), data(5, bytes(10), END_STREAM), resetStream(5, ErrorCode.noError))
    expect(victim.end.streams[2]).toMatchObject({ isClosed: true, hasEnd: false, resetCode: ErrorCode.noError })
    expectHealthy(victim)
  })

  it('more streams than allowed are refused, and may be asked again', () => {
    const victim = server({ maxPeerStreams: 2 })
    victim.attack(head(5, getFields, END_STREAM))
    expect(resetsIn(victim)).toEqual({ 5: 'refusedStream' })
    expectHealthy(victim)
    victim.attack(head(7, getFields, END_STREAM))
    expect(victim.end.streams).toHaveLength(3)
  })

  it('the window of the connection comes back for what goes to a stream that is over, padding included', () => {
    const victim = server({ connectionWindowBytes: 65_535 })
    victim.attack(resetStream(1, ErrorCode.cancel))
    const late = naiveFrame(DATA, PADDED, 1, Buffer.concat([Buffer.from([255]), bytes(16_000)]))
    for (let count = 0; count < 100; count++) victim.attack(late)
    expect(victim.failureCode).toBeUndefined()
    const credited = victim.answers().filter(({ type, streamId }) => type === WINDOW_UPDATE && streamId === 0)
    const total = credited.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)
    expect(total).toBeGreaterThan(100 * 16_001 - 65_535)
    expect(total).toBeLessThanOrEqual(100 * 16_001)
  })
})

const brokenAnswers: readonly (readonly [string, readonly Buffer[]])[] = [
  ['data before the head', [data(3, bytes(1))]],
  ['the end before the head', [data(3, bytes(0), END_STREAM)]],
  ['no status', [head(3, ['x', '1'])]],
  ['a status of two digits', [head(3, [':status', '20'])]],
  ['a status of nothing', [head(3, [':status', '099'])]],
  ['the status of a switch', [head(3, [':status', '101'])]],
  ['two statuses', [head(3, [':status', '200', ':status', '200'])]],
  ['a pseudo field of requests', [head(3, [...okFields, ':path', '/'])]],
  ['a field of HTTP/1.1', [head(3, [...okFields, 'connection', 'close'])]],
  ['an answer before the answer that ends', [head(3, [':status', '100'], END_STREAM)]],
  ['a second head', [head(3, okFields), head(3, okFields)]],
  ['a second head that ends', [head(3, okFields), head(3, okFields, END_STREAM)]],
  ['an announced body that does not come', [head(3, [...okFields, 'content-length', '5'], END_STREAM)]],
  ['a body with no content', [head(3, [':status', '204']), data(3, contents(3, 'server', 0, 1))]],
  [
    'a body with nothing new',
    [head(3, [':status', '304', 'content-length', '5']), data(3, contents(3, 'server', 0, 5), END_STREAM)],
  ],
  ['a head beyond the limit', [head(3, [...okFields, ...Array<string>(900).fill('x')])]],
]

describe('malformed answers', () => {
  it.each(brokenAnswers)('%s', (_, frames) => {
    const victim = client()
    victim.attack(...frames)
    expect(resetsIn(victim)).toEqual({ 3: 'protocolError' })
    const [first, second] = victim.end.streams
    expect(second).toMatchObject({ isClosed: true, hasEnd: false, resetCode: ErrorCode.protocolError })
    victim.attack(head(1, okFields), data(1, contents(1, 'server', 0, 3), END_STREAM))
    expect(first).toMatchObject({ hasEnd: true, readBytes: 3, isClosed: false })
  })

  it('an answer to HEAD has no body, whatever it announces', () => {
    const victim = client()
    const fields = [':method', 'HEAD', ...getFields.slice(2)]
    const [good, bad] = [victim.end.open(false, fields), victim.end.open(false, fields)]
    const announced = [...okFields, 'content-length', '1000']
    victim.attack(
      head(good.id, announced, END_STREAM),
      head(bad.id, announced),
      data(bad.id, contents(bad.id, 'server', 0, 1)),
    )
    expect(good).toMatchObject({ hasEnd: true, isClosed: true, resetCode: undefined })
    expect(bad).toMatchObject({ hasEnd: false, isClosed: true, resetCode: ErrorCode.protocolError })
  })

  it('answers before the answer are passed over', () => {
    const victim = client()
    victim.attack(
      head(3, [':status', '103', 'link', '</a>']),
      head(3, [':status', '100']),
      head(3, okFields, END_STREAM),
    )
    expect(victim.end.streams[1]).toMatchObject({ status: 200, hasEnd: true, isClosed: true })
  })

  it('a reset without an error after a whole answer stops the request and keeps the answer', () => {
    const victim = client()
    const [first] = victim.end.streams
    first?.stream?.pause()
    victim.attack(
      head(1, okFields),
      data(1, contents(1, 'server', 0, 5), END_STREAM),
      resetStream(1, ErrorCode.noError),
    )
    expect(first).toMatchObject({ isClosed: false, readBytes: 0, hasEnd: false })
    expect(first?.stream?.isSendingOver).toBe(true)
    first?.stream?.resume()
    expect(first).toMatchObject({ isClosed: true, readBytes: 5, hasEnd: true, resetCode: undefined })
  })

  it('a reset without an error before the answer is whole breaks it off', () => {
    const victim = client()
    victim.attack(head(1, okFields), resetStream(1, ErrorCode.noError))
    expect(victim.end.streams[0]).toMatchObject({ isClosed: true, hasEnd: false, resetCode: ErrorCode.noError })
  })
})
