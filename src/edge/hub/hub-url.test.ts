import { describe, expect, it } from 'vitest'
import { MAX_HUBS, parseHubUrls } from './hub-url.ts'

const origins = (texts: readonly string[]): string[] => parseHubUrls(texts).map(({ origin }) => origin)

describe('addresses of hubs', () => {
  it('are hosts with ports, each once', () => {
    expect(origins(['https://Hub.Example:10000', ' https://hub.example:10000/ ', 'https://[::1]:1'])).toEqual([
      'https://hub.example:10000',
      'https://[::1]:1',
    ])
  })

  it.each([
    ['hub:10000', 'by https only'],
    ['hub.example', 'is no URL'],
    ['http://hub', 'by https only'],
    ['https://hub/edge.crt', 'nothing else: https://hub'],
    ['https://user:secret@hub', 'nothing else: https://hub'],
    ['https://hub/?x=1', 'nothing else'],
    ['https://hub/#x', 'nothing else'],
  ])('are not %s', (text, problem) => {
    expect(() => parseHubUrls([text])).toThrow(problem)
  })

  it('do not show a password in the message', () => {
    expect(() => parseHubUrls(['https://user:secret@hub'])).not.toThrow('secret')
  })

  it('are at least one, and not many', () => {
    expect(() => parseHubUrls([])).toThrow('no hub is named')
    const many = Array.from({ length: MAX_HUBS + 1 }, (_, index) => `https://hub-${index}`)
    expect(() => parseHubUrls(many)).toThrow(`at most ${MAX_HUBS}`)
    expect(origins(many.slice(1))).toHaveLength(MAX_HUBS)
  })
})
