import { describe, expect, it } from 'vitest'
import { MAX_FORWARDS, parseForward, parseForwards } from './forward-spec.ts'

describe('a forward', () => {
  it.each([
    ['kube-apiserver:6443:16443', 'kube-apiserver', 16_443],
    ['Kube-ApiServer:1:2', 'kube-apiserver', 2],
    ['db.Example:5432:15432', 'db.example:5432', 15_432],
    ['10.0.0.7:443:8443', '10.0.0.7:443', 8_443],
    ['[FD00::7]:443:65535', '[fd00::7]:443', 65_535],
  ])('%s is read', (text, target, localPort) => {
    expect(parseForward(text)).toEqual({ target, localPort })
  })

  it.each([
    ['', 'it has not three parts'],
    ['host:1', 'it has not three parts'],
    ['fd00::7:443:1', 'it has not three parts'],
    [':1:2', '"" is neither a name nor an address'],
    ['a b:1:2', '"a b" is neither a name nor an address'],
    ['/run/x.sock:1:2', 'is neither a name nor an address'],
    ['[10.0.0.1]:1:2', '"10.0.0.1" in brackets is no IPv6 address'],
    ['[fe80::1%eth0]:1:2', 'in brackets is no IPv6 address'],
    ['host:0:1', 'the port "0" is not a number from 1 to 65535'],
    ['host:65536:1', 'the port "65536" is not'],
    ['host:1:', 'the local port "" is not'],
    ['host:1:http', 'the local port "http" is not'],
    ['host:1:-5', 'the local port "-5" is not'],
  ])('%j is refused', (text, problem) => {
    expect(() => parseForward(text)).toThrow(problem)
    expect(() => parseForward(text)).toThrow('write HOST:PORT:LOCAL_PORT')
  })

  it('has a local port of its own', () => {
    expect(parseForwards(['a:1:10', 'a:1:11'])).toHaveLength(2)
    expect(() => parseForwards(['a:1:10', 'b:1:10'])).toThrow(
      'targets "a:1:10" and "b:1:10" both want the local port 10',
    )
    expect(() => parseForwards(['a:1:10', 'a:1:10'])).toThrow('target "a:1:10" is given twice')
    const many = Array.from({ length: MAX_FORWARDS + 1 }, (_, index) => `a:1:${index + 1}`)
    expect(() => parseForwards(many)).toThrow(`at most ${MAX_FORWARDS}`)
  })
})
