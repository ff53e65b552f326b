/** Without a link a token counts by its signature and by what the API server last said of it; what is none opens nothing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateKeys } from '../../src/identity/keys.ts'
import type { KubeObject } from '../../src/kube/index.ts'
import { forgedTokens, type KnownKey, resigned } from '../worlds/forged-tokens.ts'
import { DEFAULT, READ, ReplicaWorld, until } from './replica-world.ts'

const configMaps = `${DEFAULT}/configmaps`
const reading = { verbs: READ, resources: ['configmaps', 'pods'] }

let world: ReplicaWorld
let reader: { readonly token: string }
let publicKey: KnownKey
/** Of a pod that is there, and of one that is not. */
let living: string
let deleted: string
/** Of one that was read here, and was gone when it was read again. */
let missed: string
/** What the API server has not taken while there was a link. */
let rejected: string
/** Of an account that has been made anew since. */
let remade: string
let anew: string
/** For somebody else than the API server, as the kubelet was given it. */
let forVault: string
const strays: Record<string, string> = {}

async function missPod({ metadata }: KubeObject): Promise<void> {
  const path = `${DEFAULT}/pods/${metadata?.name}`
  await world.learn(path, reader)
  await world.delete(`${path}?gracePeriodSeconds=0`)
  expect(await world.status(path, reader)).toBe(404)
}

/** A pod of this account, and a token that is bound to it. */
async function podWithToken(name: string): Promise<{ readonly pod: KubeObject; readonly token: string }> {
  const pod = await world.pod(name, 'reader')
  const token = await world.token('reader', pod)
  await world.learn(configMaps, { token })
  return { pod, token }
}

async function seeDeletion({ metadata }: KubeObject): Promise<void> {
  const pods = await world.watch(`${DEFAULT}/pods?watch=1`, reader)
  await until('the pod is seen', () => pods.told.includes(`ADDED ${metadata?.name}`))
  await world.delete(`${DEFAULT}/pods/${metadata?.name}?gracePeriodSeconds=0`)
  await until('its deletion is seen', () => pods.told.includes(`DELETED ${metadata?.name}`))
}

async function remake(): Promise<void> {
  const account = `${DEFAULT}/serviceaccounts`
  remade = (await world.account('remade', reading)).token
  await world.learn(configMaps, { token: remade })
  await world.delete(`${account}/remade`)
  await world.create(account, { metadata: { name: 'remade' } })
  anew = await world.token('remade')
  await until('the account is known', async () => (await world.askCloud(configMaps, { token: anew })) === 200)
}

beforeAll(async () => {
  world = await ReplicaWorld.start()
  await world.create(configMaps, { metadata: { name: 'settings' } })
  reader = await world.account('reader', reading)
  await world.learn(configMaps, reader)
  const keys = JSON.parse((await world.ask('/openid/v1/jwks', reader)).body) as { keys: [KnownKey] }
  publicKey = keys.keys[0]
  const there = await podWithToken('there')
  living = there.token
  // Before anybody watches pods.
  const asked = await podWithToken('asked')
  missed = asked.token
  await missPod(asked.pod)
  const gone = await podWithToken('gone')
  deleted = gone.token
  await seeDeletion(gone.pod)
  forVault = await world.tokenByKubelet('reader', there.pod, ['vault'])
  await remake()
  // Its account is gone, so the API server takes it for nobody's.
  rejected = (await world.account('rejected', reading)).token
  await world.learn(configMaps, { token: rejected })
  await world.delete(`${DEFAULT}/serviceaccounts/rejected`)
  await until('it is rejected', async () => (await world.status(configMaps, { token: rejected })) === 401)
  const { privateKey } = await generateKeys()
  Object.assign(strays, {
    'another key of the same name': await resigned(privateKey, living, {}, { kid: publicKey.kid }),
    'another issuer': await world.resigned(living, { iss: 'https://elsewhere.example' }),
    'another audience': await world.resigned(living, { aud: ['vault'] }),
    'an audience that is nearly right': await world.resigned(living, {
      aud: ['https://kubernetes.default.svc.cluster.local/'],
    }),
    'an end long ago, never seen here': await world.resigned(living, { iat: 1_000, nbf: 1_000, exp: 2_000 }),
  })
  await world.cut()
})
afterAll(() => world.stop())

async function expectStatus(token: string, ...expected: number[]): Promise<void> {
  for (const path of [configMaps, `${configMaps}/settings`, '/version', '/openid/v1/jwks']) {
    const { status, body } = await world.ask(path, { token })
    expect(expected, `${path}: ${status} ${body.slice(0, 100)}`).toContain(status)
  }
}

describe('a token without a link', () => {
  it('is good where the API server signed it for itself', async () => {
    for (const token of [reader.token, living, await world.token('reader')])
      expect(await world.status(configMaps, { token })).toBe(200)
  })

  it('of a pod whose deletion was seen is none', async () => {
    await expectStatus(deleted, 401)
  })

  it('of a pod that was gone when it was read again is none', async () => {
    await expectStatus(missed, 401)
  })

  it('that is forged is none', async () => {
    for (const [what, token] of forgedTokens(living, publicKey)) {
      const { status, body } = await world.ask(configMaps, { token })
      // Of a key that is newer than those kept nobody here can tell.
      const expected = what.includes('name') ? [401, 503] : [401]
      expect(expected, `${what}: ${status} ${body}`).toContain(status)
    }
  })

  it.each([
    'another key of the same name',
    'another issuer',
    'another audience',
    'an audience that is nearly right',
    'an end long ago, never seen here',
  ])('with %s is none', async (what) => {
    await expectStatus(strays[what] ?? '', 401)
  })

  it('of a key that is newer than those kept waits for the API server', async () => {
    const { privateKey } = await generateKeys()
    await expectStatus(await resigned(privateKey, living, {}), 503)
  })

  it('that the kubelet was given for somebody else is none, nor are others for them', async () => {
    await expectStatus(forVault, 401)
    await expectStatus(await world.token('reader', undefined, ['vault']), 401)
  })

  it('that the API server has rejected since is none', async () => {
    await expectStatus(rejected, 401)
  })

  it('of an account that was made anew has none of the rights of the old one', async () => {
    const { status, body } = await world.ask(configMaps, { token: anew })
    expect([403, 503], body).toContain(status)
    expect(body).not.toContain('settings')
  })
})

describe('a token after a restart without a link', () => {
  beforeAll(() => world.restartEdge())

  it('is good where it was before', async () => {
    for (const token of [reader.token, living]) expect(await world.status(configMaps, { token })).toBe(200)
  })

  it('of a pod whose deletion was seen is none', async () => {
    await expectStatus(deleted, 401)
  })

  it('that is a stray is none', async () => {
    for (const token of Object.values(strays)) await expectStatus(token, 401)
  })

  it('that the kubelet was given for somebody else is none', async () => {
    await expectStatus(forVault, 401)
  })

  it('that the API server had rejected is none', async () => {
    await expectStatus(rejected, 401)
  })

  it('of an account that was made anew has none of the rights of the old one', async () => {
    expect([403, 503]).toContain(await world.status(configMaps, { token: anew }))
  })
})
