import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { MAX_FILTERED_KUBECONFIG_CHARACTERS, readYamlText, replaceServers } from './kubeconfig-text.ts'

const server = 'https://169.254.30.10:10550'
const server6 = 'https://[fd00::30:10]:10550'

describe('servers of a kubeconfig', () => {
  it.each([
    ['plain', 'clusters:\n- cluster:\n    server: https://a:6443\n  name: x\n'],
    [
      'with a comment',
      'clusters:\n  - name: x # server: https://b\n    cluster:\n      server: https://a:6443 # here\n',
    ],
    ['single quotes', "clusters: [{cluster: {server: 'https://a:6443'}, name: x}]"],
    ['double quotes', 'clusters:\n- cluster: {server: "https://a:6443", x: 1}\n'],
    ['JSON', '{"clusters":[{"name":"x","cluster":{"server":"https://a:6443","insecure-skip-tls-verify":false}}]}'],
    ['carriage returns', 'clusters:\r\n- cluster:\r\n    server: https://a:6443\r\n  name: x\r\n'],
    [
      'two clusters',
      'clusters:\n- cluster:\n    server: https://a:6443\n- cluster:\n    server: https://a:6443\nz: 1\n',
    ],
  ])('are replaced in place: %s', (_name, text) => {
    for (const wanted of [server, server6]) {
      const replaced = replaceServers(text, wanted)
      expect(parse(replaced)).toEqual(parse(text.replaceAll('https://a:6443', wanted)))
      const quotes = /["']?https:\/\/(?:a:6443|169\.254\.30\.10:10550|\[fd00::30:10\]:10550)["']?/g
      expect(replaced.replaceAll(quotes, '@')).toBe(text.replaceAll(quotes, '@'))
      expect(replaceServers(replaced, wanted)).toBe(replaced)
    }
  })

  it.each([
    ['no YAML', 'clusters: [\n'],
    ['two documents', 'clusters: []\n---\nclusters:\n- cluster:\n    server: https://a\n'],
    ['no map', '- server: https://a\n'],
    ['no list of clusters', 'clusters:\n  cluster:\n    server: https://a\n'],
    ['entries of another kind', 'clusters:\n- server: https://a\n- x\n- cluster: x\n- cluster:\n    server: 5\n'],
    ['an alias', 'a: &a https://a\nclusters:\n- cluster:\n    server: *a\n'],
    ['a block', 'clusters:\n- cluster:\n    server: |-\n      https://a\n'],
    ['nothing', ''],
    ['too much', `clusters:\n- cluster:\n    server: https://a\n#${'x'.repeat(MAX_FILTERED_KUBECONFIG_CHARACTERS)}`],
  ])('are left alone where there is %s', (_name, text) => {
    expect(replaceServers(text, server)).toBe(text)
  })
})

describe('a text in YAML', () => {
  it.each([
    ['a:\n  b: /x/y\n', '/x/y'],
    ['a:\n  b: ""\n', undefined],
    ['a:\n  b: 5\n', undefined],
    ['a: x\n', undefined],
    ['a: [\n', undefined],
  ])('of %j is %j', (text, value) => {
    expect(readYamlText(text, ['a', 'b'])).toBe(value)
  })

  it.each([3_000, 4_500, 6_000])(
    'are left alone in a text that nests %i deep, which the parser would not survive',
    (depth) => {
      const text = `a: ${'['.repeat(depth)}`
      expect(replaceServers(text, server)).toBe(text)
      expect(readYamlText(text, ['a'])).toBeUndefined()
    },
  )
})
