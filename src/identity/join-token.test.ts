import { createHash, createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import {
  caBundleSha256,
  caSha256,
  JOIN_TOKEN_CLOCK_TOLERANCE_MS,
  type JoinClaims,
  JoinTokenError,
  MAX_JOIN_TOKEN_BYTES,
  mintJoinToken,
  readJoinToken,
  tokenCovers,
  verifyJoinJwt,
} from './join-token.ts'

const nowMs = Date.UTC(2026, 5, 1, 12)
const hourMs = 3_600_000
const key = { id: 'k1', secret: randomBytes(32) }
const previous = { id: 'k0', secret: randomBytes(32) }
const keys = new Map([key, previous].map(({ id, secret }) => [id, secret]))
const checks = { audience: 'cluster-1', nowMs, keyOf: (id: string) => keys.get(id) }
const caHash = 'c0'.repeat(32)
const claims: JoinClaims = {
  audience: 'cluster-1',
  id: '0123456789abcdef',
  issuedAtMs: nowMs - hourMs,
  expiresAtMs: nowMs + hourMs,
  kubernetesCaSha256: 'ab'.repeat(32),
  apiServerName: 'kubernetes.default.svc',
}

async function jwtOf(changed: Partial<JoinClaims> = {}, signedBy = key): Promise<string> {
  const text = await mintJoinToken({ ...claims, ...changed }, signedBy, caHash)
  return text.slice(text.indexOf('.') + 1)
}

async function problemOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(JoinTokenError)
  return (error as JoinTokenError).problem
}

const verdict = (jwt: string, given = checks): Promise<string> => problemOf(verifyJoinJwt(jwt, given))
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Any header and any payload, rightly signed: what somebody could make who has the key, or a mistake of ours. */
function signed(header: object, payload: object, secret: Uint8Array = key.secret, hash = 'sha256'): string {
  const text = `${part(header)}.${part(payload)}`
  return `${text}.${createHmac(hash, secret).update(text).digest('base64url')}`
}

const header = { alg: 'HS256', typ: 'JWT', kid: 'k1' }
const payload = {
  iss: 'causeway',
  aud: 'cluster-1',
  jti: claims.id,
  iat: claims.issuedAtMs / 1000,
  exp: claims.expiresAtMs / 1000,
  kubernetesCaSha256: claims.kubernetesCaSha256,
  apiServerName: claims.apiServerName,
}

describe('a join token', () => {
  it('says what it was minted with, to the hub and to the edge', async () => {
    const all = { ...claims, node: 'edge-*', uses: 3 }
    const text = await mintJoinToken(all, key, caHash)
    const token = readJoinToken(` ${text}\n`)
    expect(token).toEqual({ caSha256: caHash, jwt: text.slice(65), claims: all })
    await expect(verifyJoinJwt(token.jwt, checks)).resolves.toEqual(all)
  })

  it('needs neither node nor uses, and is believed with the previous key too', async () => {
    await expect(verifyJoinJwt(await jwtOf({}, previous), checks)).resolves.toEqual(claims)
    await expect(verifyJoinJwt(signed(header, payload), checks)).resolves.toEqual(claims)
  })

  it('never carries a key', async () => {
    const text = await mintJoinToken(claims, key, caHash)
    const clear = Buffer.from(text.split('.')[2] ?? '', 'base64url').toString('latin1')
    expect(clear).not.toContain(key.secret.toString('latin1'))
  })
})

describe('the hub refuses a token', () => {
  it('that is expired, but allows for clocks', async () => {
    const past = (ms: number) => ({ ...checks, nowMs: claims.expiresAtMs + ms })
    await expect(verifyJoinJwt(await jwtOf(), past(JOIN_TOKEN_CLOCK_TOLERANCE_MS - 1000))).resolves.toEqual(claims)
    expect(await verdict(await jwtOf(), past(JOIN_TOKEN_CLOCK_TOLERANCE_MS))).toBe('expired')
    expect(await verdict(await jwtOf(), past(365 * 24 * hourMs))).toBe('expired')
  })

  it('from the future, but allows for clocks', async () => {
    const early = (ms: number) => ({ ...checks, nowMs: claims.issuedAtMs - ms })
    await expect(verifyJoinJwt(await jwtOf(), early(JOIN_TOKEN_CLOCK_TOLERANCE_MS))).resolves.toEqual(claims)
    expect(await verdict(await jwtOf(), early(JOIN_TOKEN_CLOCK_TOLERANCE_MS + 1000))).toBe('not-yet-valid')
    expect(await verdict(signed(header, { ...payload, nbf: nowMs / 1000 + 3600 }))).toBe('foreign')
  })

  it('of another cluster, of another issuer, for several audiences', async () => {
    expect(await verdict(await jwtOf({ audience: 'cluster-2' }))).toBe('foreign')
    expect(await verdict(signed(header, { ...payload, iss: 'kubernetes' }))).toBe('foreign')
    expect(await verdict(signed(header, { ...payload, aud: ['cluster-1', 'cluster-2'] }))).toBe('malformed')
  })

  it('of an unknown, a missing or a misused key id', async () => {
    expect(await verdict(await jwtOf({}, { id: 'k9', secret: key.secret }))).toBe('foreign')
    expect(await verdict(signed({ alg: 'HS256' }, payload))).toBe('foreign')
    expect(await verdict(signed({ ...header, kid: 'k0' }, payload))).toBe('foreign')
    expect(await verdict(signed({ ...header, kid: '__proto__' }, payload))).toBe('foreign')
    expect(await verdict(signed({ ...header, kid: 7 }, payload))).toBe('foreign')
  })

  it('that is not signed, whatever its header says', async () => {
    const none = new UnsecuredJWT(payload).encode()
    expect(await verdict(none)).toBe('malformed')
    for (const alg of ['none', 'None', 'NONE', '', null])
      expect(await verdict(`${part({ ...header, alg })}.${part(payload)}.`)).toBe('malformed')
    const [head, body] = (await jwtOf()).split('.')
    expect(await verdict(`${head}.${body}.`)).toBe('foreign')
  })

  it('of any other algorithm, even with the right key', async () => {
    expect(await verdict(signed({ ...header, alg: 'HS512' }, payload, key.secret, 'sha512'))).toBe('malformed')
    expect(await verdict(signed({ ...header, alg: 'HS384' }, payload, key.secret, 'sha384'))).toBe('malformed')
  })

  it('that confuses signatures with keys: RS256, ES256, or a public key as the secret', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const by = (alg: string, privateKey: typeof rsa.privateKey): Promise<string> =>
      new SignJWT(payload).setProtectedHeader({ ...header, alg }).sign(privateKey)
    expect(await verdict(await by('RS256', rsa.privateKey))).toBe('malformed')
    expect(await verdict(await by('PS256', rsa.privateKey))).toBe('malformed')
    expect(await verdict(await by('ES256', ec.privateKey))).toBe('malformed')
    for (const format of ['pem', 'der'] as const) {
      const publicKey = Buffer.from(ec.publicKey.export({ type: 'spki', format } as { type: 'spki'; format: 'pem' }))
      expect(await verdict(signed(header, payload, publicKey))).toBe('foreign')
    }
  })

  it('that brings its own key', async () => {
    const own = randomBytes(32)
    const jwk = { kty: 'oct', k: own.toString('base64url') }
    expect(await verdict(signed({ ...header, jwk }, payload, own))).toBe('foreign')
    expect(await verdict(signed({ ...header, jku: 'https://127.0.0.1/keys' }, payload, own))).toBe('foreign')
  })

  it('with critical headers we do not know', async () => {
    expect(await verdict(signed({ ...header, crit: ['exp'], exp: 1 }, payload))).toBe('malformed')
    expect(await verdict(signed({ ...header, crit: ['b64'], b64: false }, payload))).toBe('malformed')
  })

  const missing = ['aud', 'jti', 'iat', 'exp', 'iss', 'kubernetesCaSha256', 'apiServerName'] as const
  it.each(missing)('without %s', async (name) => {
    const { [name]: _left, ...rest } = payload
    expect(await verdict(signed(header, rest))).toMatch(/^(malformed|foreign)$/)
  })

  const wrong: [string, unknown][] = [
    ['jti', 7],
    ['iat', 'now'],
    ['exp', 'never'],
    ['exp', null],
    ['kubernetesCaSha256', 'AB'.repeat(32)],
    ['kubernetesCaSha256', 'ab'],
    ['apiServerName', ''],
    ['apiServerName', ['a']],
    ['node', ''],
    ['node', 7],
    ['node', ['edge-1']],
    ['node', null],
    ['uses', 0],
    ['uses', -1],
    ['uses', 1.5],
    ['uses', '3'],
    ['uses', null],
    ['uses', 2 ** 60],
  ]
  it.each(wrong)('whose %s is %j', async (name, value) => {
    expect(await verdict(signed(header, { ...payload, [name]: value }))).toMatch(/^(malformed|foreign)$/)
  })

  it('that is too long, without looking at it', async () => {
    expect(await verdict(signed(header, { ...payload, x: 'y'.repeat(MAX_JOIN_TOKEN_BYTES) }))).toBe('malformed')
  })

  it('that was cut anywhere', async () => {
    const jwt = await jwtOf()
    for (let length = 0; length < jwt.length; length++)
      expect(await verdict(jwt.slice(0, length))).toMatch(/^(malformed|foreign)$/)
  })

  it('that was altered anywhere', async () => {
    const jwt = await jwtOf({ node: 'edge-1', uses: 1 })
    const bytesOf = (text: string): string => {
      const [head, body, signature = ''] = text.split('.')
      // The last letter of a signature has bits that belong to no byte.
      return `${head}.${body}.${Buffer.from(signature, 'base64url').toString('hex')}`
    }
    const letters = 'ABCXYZabcxyz0123456789-_.'.split('')
    await fc.assert(
      fc.asyncProperty(fc.nat(jwt.length - 1), fc.constantFrom(...letters), async (at, letter) => {
        const altered = jwt.slice(0, at) + letter + jwt.slice(at + 1)
        fc.pre(bytesOf(altered) !== bytesOf(jwt))
        expect(await verdict(altered)).toMatch(/^(malformed|foreign)$/)
      }),
    )
  })

  it('that is anything else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (text) => {
        expect(await verdict(text)).toMatch(/^(malformed|foreign)$/)
      }),
    )
  })
})

describe('an edge reads a token', () => {
  const problem = (text: string): Promise<string> => problemOf((async () => readJoinToken(text))())

  it('and refuses what is none', async () => {
    const token = await mintJoinToken(claims, key, caHash)
    const jwt = token.slice(65)
    const texts = ['', '.', '..', '...', jwt, `.${jwt}`, `${caHash}${jwt}`, `${caHash}.`, `${caHash}.a.b`]
    const hashes = [caHash.toUpperCase(), caHash.slice(1), `${caHash}0`, `0x${caHash.slice(2)}`, 'g'.repeat(64)]
    for (const text of [...texts, ...hashes.map((hash) => `${hash}.${jwt}`), `${token}.x`, `${token} ${token}`])
      expect(await problem(text), text).toBe('malformed')
    expect(await problem(`${token}${'x'.repeat(MAX_JOIN_TOKEN_BYTES)}`)).toBe('malformed')
  })

  it('and refuses one whose inside is damaged or lacks what it must pin', async () => {
    expect(await problem(`${caHash}.a.b.c`)).toBe('malformed')
    const { kubernetesCaSha256: _ca, ...withoutCa } = payload
    expect(await problem(`${caHash}.${signed(header, withoutCa)}`)).toBe('malformed')
    const { apiServerName: _name, ...withoutName } = payload
    expect(await problem(`${caHash}.${signed(header, withoutName)}`)).toBe('malformed')
  })

  it('or throws only its own error, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(() => readJoinToken(text)).toThrow(JoinTokenError)
        expect(() => readJoinToken(`${caHash}.${text}`)).toThrow(JoinTokenError)
      }),
    )
  })
})

describe('the hashes in a token', () => {
  const certificate = (text: string) => ({ der: Buffer.from(text) })

  it('of one CA is that of its bytes', () => {
    expect(caSha256(certificate('a'))).toBe(createHash('sha256').update('a').digest('hex'))
    expect(caBundleSha256([certificate('a')])).toBe(caSha256(certificate('a')))
  })

  it('of a bundle does not depend on order or repetition, but on each certificate', () => {
    const [a, b, c] = ['a', 'b', 'c'].map(certificate) as [{ der: Buffer }, { der: Buffer }, { der: Buffer }]
    expect(caBundleSha256([b, a, b])).toBe(caBundleSha256([a, b]))
    expect(new Set([[a], [a, b], [a, b, c], [a, c], []].map((list) => caBundleSha256(list))).size).toBe(5)
  })
})

describe('the node of a token', () => {
  it.each([
    [undefined, 'anything'],
    ['edge-1', 'edge-1'],
    ['*', 'edge-1'],
    ['*', 'a'],
    ['edge-*', 'edge-'],
    ['edge-*', 'edge-1'],
    ['*.site', 'a.b.site'],
    ['a*b*c', 'abc'],
    ['a*b*c', 'a-b-b-c'],
    ['a**c', 'ac'],
    ['*a*', 'bab'],
  ])('%s covers %s', (pattern, node) => expect(tokenCovers(pattern, node)).toBe(true))

  it.each([
    ['edge-1', 'edge-10'],
    ['edge-1', 'xedge-1'],
    ['edge-*', 'edge'],
    ['edge-*', 'xedge-1'],
    ['*.site', 'site'],
    ['*.site', 'a.site.x'],
    ['aa*aa', 'aaa'],
    ['a*b*c', 'acb'],
    ['a*bb*b', 'abb'],
    ['edge.1', 'edge-1'],
    ['', 'a'],
    ['e?ge', 'edge'],
    ['[a-z]*', 'edge'],
  ])('%s does not cover %s', (pattern, node) => expect(tokenCovers(pattern, node)).toBe(false))

  it('agrees with the same pattern as an expression', () => {
    const unit = fc.constantFrom('a', 'b', '.', '*')
    fc.assert(
      fc.property(
        fc.string({ unit, maxLength: 8 }),
        fc.string({ unit: fc.constantFrom('a', 'b', '.') }),
        (pattern, node) => {
          const expression = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`)
          expect(tokenCovers(pattern, node)).toBe(expression.test(node))
        },
      ),
    )
  })

  it('takes a hostile pattern in no time', () => {
    expect(tokenCovers(`${'a*'.repeat(2000)}b`, 'a'.repeat(253))).toBe(false)
  })
})
