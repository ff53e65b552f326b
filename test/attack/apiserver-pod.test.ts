/** A pod with the token of an ordinary ServiceAccount against the control plane: rights it was not given, tokens that are none. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../src/kube/index.ts'
import { forgedTokens, type KnownKey } from '../worlds/forged-tokens.ts'
import { ACCOUNT_ATTACKS, ACCOUNT_TOKEN_PATH, ACCOUNT_WORLD } from './account-attacks.ts'
import { type AttackedServer, attackedServer } from './apiserver-world.ts'
import { type Attack, TEAM } from './node-attack.ts'

const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

let server: AttackedServer
let token: string

async function tokenFor(account: string, spec: object = {}): Promise<string> {
  const made = await server.create(`${TEAM}/serviceaccounts/${account}/token`, { spec })
  return (made['status'] as { token: string }).token
}

async function standing(given: string): Promise<number> {
  return (await server.ask('POST', whoAmI, { token: given, body: {} })).status
}

function podOf(name: string, serviceAccountName: string): object {
  return { metadata: { name }, spec: { serviceAccountName, containers: [{ name: 'c', image: 'i' }] } }
}

beforeAll(async () => {
  server = await attackedServer()
  for (const [path, object] of ACCOUNT_WORLD) await server.create(path, object)
  token = await tokenFor('app')
})

afterAll(() => server.stop())

async function attempt({ method, target, body, type, headers = [] }: Attack): Promise<number> {
  const given = { ...(body === undefined ? {} : { body }), ...(type === undefined ? {} : { type }) }
  return (await server.ask(method, target, { token, headers: Object.fromEntries(headers), ...given })).status
}

describe('a pod with the token of its account', () => {
  it('has the rights of its roles, and no others', async () => {
    const wrong: string[] = []
    for (const attack of ACCOUNT_ATTACKS) {
      const status = await attempt(attack)
      if (status >= 400 === (attack.isAllowed === true)) wrong.push(`${status}: ${attack.what}`)
    }
    expect(wrong).toEqual([])
  })

  it('asks for a token of its own, and gets no rights by it elsewhere', async () => {
    const target = ACCOUNT_TOKEN_PATH
    const body = { spec: { audiences: ['https://elsewhere.example'] } }
    const { status, text } = await server.ask('POST', target, { token, body })
    expect(status).toBe(201)
    const foreign = (JSON.parse(text) as { status: { token: string } }).status.token
    expect(await standing(foreign)).toBe(401)
  })

  it('has a token that ends when it should', async () => {
    const { status, text } = await server.ask('POST', ACCOUNT_TOKEN_PATH, {
      token,
      body: { spec: { expirationSeconds: 600 } },
    })
    expect(status).toBe(201)
    const { spec, status: given } = JSON.parse(text) as {
      spec: { expirationSeconds: number }
      status: { expirationTimestamp: string }
    }
    expect(spec.expirationSeconds).toBe(600)
    expect(new Date(given.expirationTimestamp).getTime() - Date.now()).toBeLessThanOrEqual(600_000)
  })
})

describe('a token', () => {
  it('is believed if it is one', async () => {
    expect(await standing(token)).toBe(201)
  })

  it('is not believed if it is forged', async () => {
    const { keys } = (await server.read('/openid/v1/jwks')) as unknown as { keys: KnownKey[] }
    const [key] = keys
    if (key === undefined) throw new Error('the server tells no key')
    const believed: string[] = []
    for (const [what, forged] of forgedTokens(token, key)) {
      const status = await standing(forged)
      if (status !== 401) believed.push(`${status}: ${what}`)
    }
    expect(believed).toEqual([])
    expect(await standing(token)).toBe(201)
  })

  it('ends with its pod, and does not come back with another of that name', async () => {
    const made = await server.create(`${TEAM}/pods`, podOf('short', 'app'))
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'short', uid: made.metadata?.uid }
    const bound = await tokenFor('app', { boundObjectRef })
    expect(await standing(bound)).toBe(201)
    await server.ask('DELETE', `${TEAM}/pods/short?gracePeriodSeconds=0`)
    expect(await standing(bound)).toBe(401)
    await server.create(`${TEAM}/pods`, podOf('short', 'app'))
    expect(await standing(bound)).toBe(401)
  })

  it('ends with its secret', async () => {
    const made = await server.create(`${TEAM}/secrets`, { metadata: { name: 'short' } })
    const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: 'short', uid: made.metadata?.uid }
    const bound = await tokenFor('app', { boundObjectRef })
    expect(await standing(bound)).toBe(201)
    await server.ask('DELETE', `${TEAM}/secrets/short`)
    expect(await standing(bound)).toBe(401)
  })

  it('ends with its account, and does not come back with another of that name', async () => {
    const account = { metadata: { name: 'short' } }
    await server.create(`${TEAM}/serviceaccounts`, account)
    const old = await tokenFor('short')
    expect(await standing(old)).toBe(201)
    await server.ask('DELETE', `${TEAM}/serviceaccounts/short`)
    expect(await standing(old)).toBe(401)
    await server.create(`${TEAM}/serviceaccounts`, account)
    expect(await standing(old)).toBe(401)
    expect(await standing(await tokenFor('short'))).toBe(201)
  })

  it('lasts a minute longer than its pod, while something holds that', async () => {
    const held = { ...podOf('held', 'app'), metadata: { name: 'held', finalizers: ['x.io/y'] } } as KubeObject
    const made = await server.create(`${TEAM}/pods`, held)
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'held', uid: made.metadata?.uid }
    const bound = await tokenFor('app', { boundObjectRef })
    await server.ask('DELETE', `${TEAM}/pods/held?gracePeriodSeconds=0`)
    // So it is with the real server; that it ends then is shown beside the source, with a clock that can be moved.
    expect(await standing(bound)).toBe(201)
  })
})
