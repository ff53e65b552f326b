import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  MAX_FIELD_DEPTH,
  MAX_FIELDS_PER_LEVEL,
  MAX_LOGGED_LINE_CHARACTERS,
  MAX_LOGGED_TEXT_CHARACTERS,
  REDACTED,
  redactFields,
  scrubText,
} from './redaction.ts'

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzeXN0ZW06bm9kZTplMSJ9.c2lnbmF0dXJl-_0'
const KEY_BODY = 'MHcCAQEEIKj0o7yWn0dXQ3G3'
const PRIVATE_KEY = `-----BEGIN EC PRIVATE KEY-----\n${KEY_BODY}\n-----END EC PRIVATE KEY-----`

describe('redactFields', () => {
  it.each([
    'authorization',
    'Authorization',
    'proxy-authorization',
    'set-cookie',
    'token',
    'joinToken',
    'access_token',
    'password',
    'clientSecret',
    'privateKey',
    'private-key',
    'client-key-data',
  ])('hides %s at any depth', (name) => {
    const logged = JSON.stringify(redactFields({ [name]: 'hunter2', request: { headers: [{ [name]: 'hunter2' }] } }))
    expect(logged).not.toContain('hunter2')
    expect(logged.split(REDACTED)).toHaveLength(3)
  })

  it('leaves what tells nothing', () => {
    const fields = { hasToken: true, tokens: 3, token: undefined, tokenFile: '/run/token', keys: ['a'], password: '' }
    expect(redactFields(fields)).toEqual(fields)
  })

  it('shows of a Secret only which one it is', () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { name: 's', namespace: 'n', annotations: { 'last-applied': 'aHVudGVyMg==' } },
      data: { a: 'aHVudGVyMg==' },
      stringData: { b: 'hunter2' },
    }
    expect(redactFields({ event: { type: 'ADDED', object: secret } })).toEqual({
      event: {
        type: 'ADDED',
        object: {
          apiVersion: 'v1',
          kind: 'Secret',
          type: 'Opaque',
          metadata: { name: 's', namespace: 'n', annotations: REDACTED },
          data: REDACTED,
          stringData: REDACTED,
        },
      },
    })
  })

  it('hides the data of the items of a SecretList, which have no kind', () => {
    const list = { kind: 'SecretList', items: [{ metadata: { name: 's' }, data: { a: 'aHVudGVyMg==' } }] }
    const logged = JSON.stringify(redactFields({ list }))
    expect(logged).toContain('"name":"s"')
    expect(logged).not.toContain('aHVudGVyMg==')
  })

  it('keeps the data of a ConfigMap', () => {
    const configMap = { kind: 'ConfigMap', data: { a: 'b' } }
    expect(redactFields({ configMap })).toEqual({ configMap })
  })

  it('describes errors with their causes and their own fields', () => {
    const error = Object.assign(new Error('outer', { cause: new Error('inner') }), { code: 'E1', token: 'hunter2' })
    expect(redactFields({ err: error })).toMatchObject({
      err: { type: 'Error', message: 'outer', code: 'E1', token: REDACTED, cause: { message: 'inner' } },
    })
  })

  it('turns bytes, maps, sets, dates and big numbers into something short', () => {
    expect(
      redactFields({
        body: new Uint8Array(3),
        map: new Map([['token', 'hunter2']]),
        set: new Set([1]),
        at: new Date(0),
        revision: 12n,
      }),
    ).toEqual({
      body: '[3 bytes]',
      map: { token: REDACTED },
      set: [1],
      at: '1970-01-01T00:00:00.000Z',
      revision: '12',
    })
  })

  it('ends on circles, and cuts what is deep or wide', () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    const text = JSON.stringify(redactFields(circle))
    expect(text).toContain('[too deep]')
    expect(text.match(/self/g)?.length).toBe(MAX_FIELD_DEPTH)
    const wide = redactFields({ list: Array.from({ length: MAX_FIELDS_PER_LEVEL + 5 }, () => 1) })
    expect((wide['list'] as unknown[]).at(-1)).toBe('[5 more]')
  })
})

describe('redactFields of long texts', () => {
  it('tells the beginning of each, and how much is left out', () => {
    const agent = 'x'.repeat(MAX_LOGGED_TEXT_CHARACTERS + 7)
    const err = new Error(agent)
    const { agent: shown, err: described } = redactFields({ agent, err })
    expect(shown).toBe(`${agent.slice(7)}[7 more characters]`)
    expect(described).toMatchObject({ message: shown })
    expect(redactFields({ agent: agent.slice(7) })).toEqual({ agent: agent.slice(7) })
  })

  it('has an end for all of them together, whatever they stand in', () => {
    const texts = Array.from({ length: 50 }, () => '€'.repeat(MAX_LOGGED_TEXT_CHARACTERS))
    const line = JSON.stringify(
      redactFields({ texts, map: new Map([['a', texts]]), err: new Error('y', { cause: texts }) }),
    )
    expect(line.match(/€/g)).toHaveLength(MAX_LOGGED_LINE_CHARACTERS)
  })
})

describe('scrubText', () => {
  it.each([
    ['what looks like schemes', 'a-'],
    ['beginnings of keys', '-----BEGIN PRIVATE KEY-----'],
    ['beginnings of tokens', '-eyJaaaaa'],
    ['beginnings of headers', 'authorization: '],
    ['beginnings of bearer tokens', 'bearer '],
    ['beginnings of URLs', 'a://b:'],
    ['single words', 'BEGIN PRIVATE KEY '],
  ])('is done with megabytes of %s before anybody notices', (_what, piece) => {
    // Whatever is quadratic in the text would not come to an end here.
    const text = piece.repeat(2_000_000 / piece.length)
    expect(scrubText(text).length).toBeLessThanOrEqual(2 * text.length)
  })

  it.each([
    ['a JWT', `got ${JWT} from peer`, JWT],
    ['a JWT behind a hash', `token ab12.${JWT}`, 'eyJzdWIi'],
    ['a JWT cut short', `got ${JWT.slice(0, 40)}`, 'eyJzdWIi'],
    ['an opaque bearer token', 'Bearer abcdef0123456789abcdef refused', 'abcdef0123456789'],
    ['a basic header', 'authorization: Basic dXNlcjpodW50ZXIy', 'dXNlcjpodW50ZXIy'],
    ['a bare header', 'Authorization=hunter2', 'hunter2'],
    ['a private key', `loaded ${PRIVATE_KEY}`, KEY_BODY],
    ['a private key cut short', `loaded ${PRIVATE_KEY.slice(0, 50)}`, KEY_BODY.slice(0, 10)],
    ['a private key in JSON', JSON.stringify({ msg: PRIVATE_KEY }), KEY_BODY],
    ['PEM in base64', `key ${Buffer.from(PRIVATE_KEY).toString('base64')}`, Buffer.from(KEY_BODY).toString('base64')],
    ['a password in a URL', 'proxy http://me:hunter2@proxy:3128/', 'hunter2'],
  ])('hides %s', (_what, text, secret) => {
    const scrubbed = scrubText(text)
    expect(scrubbed).not.toContain(secret)
    expect(scrubbed).toContain('redacted')
  })

  it.each([
    'the bearer of this letter',
    'bearer tokens are refused',
    '-----BEGIN CERTIFICATE-----',
    'https://127.0.0.1:10551/readyz?verbose',
    'authorization failed',
    'v1.36.4',
  ])('leaves "%s" alone', (text) => {
    expect(scrubText(text)).toBe(text)
  })

  it('keeps the words after a private key', () => {
    expect(scrubText(`read ${PRIVATE_KEY} from disk`)).toBe('read [redacted private key] from disk')
  })

  it('leaves every line of JSON a line of JSON', () => {
    const secret = fc.constantFrom(JWT, PRIVATE_KEY, `Bearer ${JWT}`, 'authorization: "Basic x"', 'http://a:b@c')
    const text = fc.array(fc.oneof(fc.string(), secret)).map((pieces) => pieces.join(' '))
    fc.assert(
      fc.property(fc.dictionary(fc.string(), text), (fields) => {
        const scrubbed = scrubText(JSON.stringify(fields))
        expect(() => JSON.parse(scrubbed) as unknown).not.toThrow()
        expect(scrubbed).not.toContain(KEY_BODY)
        expect(scrubbed).not.toContain(JWT)
      }),
    )
  })
})
