import { describe, expect, it } from 'vitest'
import { ProxySettingsError, parseProxySettings } from './proxy-settings.ts'

describe('HTTPS_PROXY', () => {
  const proxy = (value: string) => parseProxySettings({ HTTPS_PROXY: value }).proxyFor('hub.example', 10_000)

  it.each([
    ['proxy:3128', { secure: false, host: 'proxy', port: 3128 }],
    ['http://proxy', { secure: false, host: 'proxy', port: 80 }],
    ['https://proxy', { secure: true, host: 'proxy', port: 443 }],
    ['http://[fd00::1]:3128/', { secure: false, host: 'fd00::1', port: 3128 }],
    [
      'http://me:p%40ss@proxy:1',
      { secure: false, host: 'proxy', port: 1, authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}` },
    ],
  ])('%s names a proxy', (value, expected) => {
    expect(proxy(value)).toEqual(expected)
  })

  it('may be empty, absent, or in small letters', () => {
    expect(proxy('')).toBeUndefined()
    expect(parseProxySettings({}).proxyFor('hub.example', 1)).toBeUndefined()
    expect(parseProxySettings({ https_proxy: 'proxy:1' }).proxyFor('hub.example', 1)).toMatchObject({ host: 'proxy' })
  })

  it('in capitals comes first', () => {
    const settings = parseProxySettings({ HTTPS_PROXY: 'big:1', https_proxy: 'small:1' })
    expect(settings.proxyFor('hub.example', 1)).toMatchObject({ host: 'big' })
  })

  it.each(['socks5://me:secret@proxy:1080', 'http://me:secret@:99999', 'http://me:secret%@proxy'])(
    '%s is refused without repeating the password',
    (value) => {
      expect(() => proxy(value)).toThrow(ProxySettingsError)
      expect(() => proxy(value)).toThrow(/^(?!.*secret)/)
    },
  )
})

describe('NO_PROXY', () => {
  const isDirect = (list: string, host: string, port = 10_000) =>
    parseProxySettings({ HTTPS_PROXY: 'proxy:3128', NO_PROXY: list }).proxyFor(host, port) === undefined

  it.each([
    ['*', 'hub.example'],
    ['hub.example', 'hub.example'],
    ['hub.example', 'HUB.example.'],
    ['example', 'hub.example'],
    ['.example', 'hub.example'],
    ['*.example', 'hub.example'],
    ['other, hub.example:10000', 'hub.example'],
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:10000', '192.0.2.7'],
    ['192.0.2.0/24', '192.0.2.7'],
    ['fd00::/8', 'fd00::1'],
    ['fd00:0::1', 'fd00::1'],
    ['[fd00::1]:10000', 'fd00::1'],
    ['', 'localhost'],
    ['', '127.0.0.9'],
    ['', '::1'],
  ])('%j lets %s be reached directly', (list, host) => {
    expect(isDirect(list, host)).toBe(true)
  })

  it.each([
    ['', 'hub.example'],
    [',', 'hub.example'],
    ['.hub.example', 'hub.example'],
    ['ub.example', 'hub.example'],
    ['hub.example:443', 'hub.example'],
    ['192.0.2.0/24', '192.0.3.7'],
    ['192.0.2.0/33', '192.0.2.7'],
    ['192.0.2.7:443', '192.0.2.7'],
    ['192.0.2.0/24', 'hub.example'],
    ['[fd00::1]:443', 'fd00::1'],
    ['', '127.example'],
  ])('%j leaves %s to the proxy', (list, host) => {
    expect(isDirect(list, host)).toBe(false)
  })
})
