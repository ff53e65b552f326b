import { beforeAll, describe, expect, it } from 'vitest'
import { RequestHeaders, type ResponseHeaders } from '../../http/server/exchange.ts'
import { jwtKeyId } from '../../identity/jwk.ts'
import { generateKeys, type KeyPair } from '../../identity/keys.ts'
import { DEFAULT_ISSUER } from '../auth/tokens/issuer.ts'
import type { RequestContext } from '../request/handler.ts'
import { JWKS_PATH, OPENID_CONFIGURATION_PATH, openIdHandler } from './openid-handler.ts'

describe('openIdHandler', () => {
  let rsa: KeyPair
  let ec: KeyPair

  beforeAll(async () => {
    rsa = await generateKeys({ type: 'rsa', bits: 2048 })
    ec = await generateKeys()
  })

  const ask = async (path: string, method = 'GET', accept?: string) => {
    const keys = [rsa.privateKey, ec.publicKey]
    const handle = openIdHandler({ issuer: DEFAULT_ISSUER, keys, serverAddress: () => '10.0.0.1:6443' })
    let served: { status: number; headers: ResponseHeaders; body: unknown } | undefined
    const exchange = {
      method,
      headers: new RequestHeaders(accept === undefined ? [] : [['accept', accept]]),
      respond: (status: number, headers: ResponseHeaders, body: Buffer) => {
        served = { status, headers, body: JSON.parse(body.toString()) }
      },
    }
    const info = { kind: 'non-resource', path, verb: method.toLowerCase() }
    const responseHeaders = { 'cache-control': 'no-cache, private' }
    const context = { exchange, info, responseHeaders, warnings: new Set() } as unknown as RequestContext
    return { handled: await handle(context), served }
  }

  it('tells the issuer and where its keys are', async () => {
    expect((await ask(OPENID_CONFIGURATION_PATH)).served).toEqual({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'public, max-age=3600' },
      body: {
        issuer: DEFAULT_ISSUER,
        jwks_uri: 'https://10.0.0.1:6443/openid/v1/jwks',
        response_types_supported: ['id_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256', 'RS256'],
      },
    })
  })

  it('tells the public keys, and nothing of the private ones', async () => {
    const { served } = await ask(`${JWKS_PATH}/`)
    expect(served?.headers).toMatchObject({ 'content-type': 'application/jwk-set+json' })
    const { keys } = (served?.body ?? {}) as { keys: Record<string, unknown>[] }
    expect(keys.map(({ kid }) => kid)).toEqual([jwtKeyId(rsa.publicKey), jwtKeyId(ec.publicKey)])
    expect(keys.flatMap((key) => Object.keys(key))).not.toContain('d')
  })

  it('leaves other paths to others', async () => {
    for (const path of ['/openid/v1', '/openid/', '/', '/.well-known/other']) {
      expect(await ask(path)).toEqual({ handled: false, served: undefined })
    }
  })

  it('refuses other methods and media types', async () => {
    await expect(ask(JWKS_PATH, 'POST')).rejects.toMatchObject({ code: 405 })
    await expect(ask(JWKS_PATH, 'HEAD')).rejects.toMatchObject({ code: 405 })
    await expect(ask(JWKS_PATH, 'GET', 'application/json')).rejects.toMatchObject({
      code: 406,
      message: '406: Not Acceptable\n\nAvailable representations: application/jwk-set+json',
    })
    expect(await ask(JWKS_PATH, 'GET', 'text/html, */*;q=0.1')).toHaveProperty('handled', true)
  })
})
