import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDestination } from '../routing/destination.ts'
import { type BadRequest, ConnectHeadReader, type ConnectRequest, MAX_CONNECT_HEAD_BYTES } from './connect-head.ts'

function read(text: string): ConnectRequest | BadRequest | undefined {
  return new ConnectHeadReader().push(Buffer.from(text, 'latin1'))
}

const head = 'CONNECT 10.0.0.1:10250 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'

describe('the head of a CONNECT request', () => {
  it('names the destination in its target, whatever its Host says', () => {
    const request = read(head)
    expect(request).toEqual({
      destination: { host: { kind: 'address', text: '10.0.0.1' }, port: 10250 },
      rest: Buffer.alloc(0),
    })
  })

  it('needs no headers at all', () => {
    expect(read('CONNECT edge-1:1 HTTP/1.0\r\n\r\n')).toMatchObject({ destination: { port: 1 } })
  })

  it('is the same however its bytes are cut, and leaves what follows it untouched', () => {
    const bytes = Buffer.concat([Buffer.from(head), Buffer.from([0, 255, 13, 10, 13, 10, 7])])
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: head.length - 1 })), (cuts) => {
        const reader = new ConnectHeadReader()
        const ends = [...cuts.sort((a, b) => a - b), bytes.length]
        const answers = ends.map((end, index) => reader.push(bytes.subarray(ends[index - 1] ?? 0, end)))
        const last = answers.pop()
        expect(new Set(answers)).toEqual(new Set(answers.length === 0 ? [] : [undefined]))
        if (last === undefined || 'problem' in last) throw new Error('not read')
        expect(formatDestination(last.destination)).toBe('10.0.0.1:10250')
        expect([...last.rest]).toEqual([0, 255, 13, 10, 13, 10, 7])
      }),
    )
  })

  it.each([
    ['GET / HTTP/1.1', 405],
    ['CONNECT edge-1:1 HTTP/2.0', 505],
    ['connect edge-1:1 HTTP/1.1', 400],
    ['CONNECT edge-1 HTTP/1.1', 400],
    ['CONNECT  edge-1:1 HTTP/1.1', 400],
    ['CONNECT edge-1:1', 400],
    ['CONNECT http://edge-1:1/ HTTP/1.1', 400],
    ['CONNECT edge-1:1\tHTTP/1.1', 400],
    ['CONNECT edge-1:1\nX: y HTTP/1.1', 400],
    ['\r\nCONNECT edge-1:1 HTTP/1.1', 400],
    ['CONNECT edge-1:1 HTTP/1.1\r\nContent-Length: 5', 400],
    ['CONNECT edge-1:1 HTTP/1.1\r\nTransfer-Encoding: chunked', 400],
    ['CONNECT edge-1:1 HTTP/1.1\r\nHost : x', 400],
    ['CONNECT edge-1:1 HTTP/1.1\r\nA: b\r\n folded', 400],
    ['CONNECT edge-1:1 HTTP/1.1\r\nA: b\nC: d', 400],
    ['CONNECT edge-1:1 HTTP/1.1\r\nA: \u0000', 400],
    ['CONNECT edge-1:1 HTTP/1.1\r\nno colon', 400],
    ['\u0016\u0003\u0001', 400],
  ])('is refused for %j', (text, status) => {
    expect(read(`${text}\r\n\r\n`)).toMatchObject({ status })
  })

  it.each([
    ['CONNECT edge-1:1 HTTP/1.1\n\n', 'the lines of the head must end in CR LF'],
    ['CONNECT edge-1:1 HTTP/1.1\n', 'the lines of the head must end in CR LF'],
    ['\nCONNECT', 'the lines of the head must end in CR LF'],
    ['CONNECT a:1 HTTP/1.1\r\nContent-Length: 5\r\n\r\n', 'a CONNECT request has no body: leave out Content-Length'],
    ['CONNECT a:1 HTTP/1.1\r\nContent-Length: 00\r\n\r\n', 'a CONNECT request has no body: leave out Content-Length'],
    ['CONNECT a:1 HTTP/1.1\r\nTransfer-Encoding: 0\r\n\r\n', 'leave out Transfer-Encoding'],
    ['CONNECT a:1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n', 'leave out Transfer-Encoding'],
  ])('%j is refused with what is wrong, at once', (text, problem) => {
    expect(read(text)).toMatchObject({ status: 400, problem: expect.stringContaining(problem) })
  })

  it('may say that it has no body, and be followed by any line ends', () => {
    const text = 'CONNECT edge-1:1 HTTP/1.1\r\nContent-Length: 0\r\n\r\n\n\n'
    expect(read(text)).toMatchObject({ destination: { port: 1 }, rest: Buffer.from('\n\n') })
  })

  it('is refused beyond its size, complete or not', () => {
    const filling = 'a'.repeat(MAX_CONNECT_HEAD_BYTES)
    expect(read(`CONNECT edge-1:1 HTTP/1.1\r\nX: ${filling}`)).toMatchObject({ status: 431 })
    expect(read(`CONNECT edge-1:1 HTTP/1.1\r\nX: ${filling}\r\n\r\n`)).toMatchObject({ status: 431 })
    expect(read(`${head}${filling}`)).toMatchObject({ destination: { port: 10250 } })
  })

  it('never throws on anything', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const answer = read(`CONNECT ${text} HTTP/1.1\r\n\r\n`)
        expect(answer === undefined || 'problem' in answer || answer.destination.port > 0).toBe(true)
      }),
    )
  })
})
