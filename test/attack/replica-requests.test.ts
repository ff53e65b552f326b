/** Requests that say they are another's, or look like another's: what is answered without a link is what their sender may have. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Asker, DEFAULT, READ, ReplicaWorld, tokenRequest, tokensOf, until } from './replica-world.ts'

const configMaps = `${DEFAULT}/configmaps`
const tokens = tokensOf('owner')
const words = { mine: 'plugh-that-is-mine', theirs: 'xyzzy-that-is-theirs' }
const mineOnly = 'fieldSelector=metadata.name%3Dmine'
const theirsOnly = 'fieldSelector=metadata.name%3Dtheirs'
const watching = 'watch=1&timeoutSeconds=1'
const documents = ['/version', '/api', '/apis', '/openid/v1/jwks']

let world: ReplicaWorld
/** May read all, and has. */
let owner: Asker
/** May read what is called mine, and has. */
let narrow: Asker
/** May read nothing. */
let stranger: Asker
/** What the kubelet was given a token for. */
let wished: object

async function learnDocuments(): Promise<void> {
  for (const path of documents) {
    const kept = world.replica.documents
    expect(await world.status(path, owner)).toBe(200)
    await until(`${path} is kept`, () => world.replica.documents > kept)
  }
}

async function learnToken(): Promise<void> {
  const pod = await world.pod('web', 'owner')
  expect(await world.status(`${DEFAULT}/pods/web`, 'node')).toBe(200)
  await world.tokenByKubelet('owner', pod, ['vault'])
  wished = tokenRequest(pod, ['vault'])
}

beforeAll(async () => {
  world = await ReplicaWorld.start()
  for (const [name, word] of Object.entries(words))
    await world.create(configMaps, { metadata: { name }, data: { word } })
  owner = await world.account('owner', { verbs: READ, resources: ['configmaps', 'pods'] })
  narrow = await world.account('narrow', { verbs: READ, resources: ['configmaps'], resourceNames: ['mine'] })
  stranger = await world.account('stranger')
  for (const path of [configMaps, `${configMaps}?${watching}`]) await world.learn(path, owner)
  for (const path of [`${configMaps}/mine`, `${configMaps}?${mineOnly}`, `${configMaps}?${mineOnly}&${watching}`])
    await world.learn(path, narrow)
  await learnDocuments()
  await learnToken()
  await world.cut()
})
afterAll(() => world.stop())

const others: [what: string, headers: Record<string, string>][] = [
  ['Impersonate-User', { 'impersonate-user': 'system:serviceaccount:default:owner' }],
  ['Impersonate-User that is empty', { 'impersonate-user': '' }],
  ['Impersonate-Group', { 'impersonate-user': 'somebody', 'impersonate-group': 'system:masters' }],
  ['Impersonate-Group alone', { 'impersonate-group': 'system:masters' }],
  ['Impersonate-Uid alone', { 'impersonate-uid': 'x' }],
  ['Impersonate-Extra alone', { 'impersonate-extra-scopes': 'x' }],
]

describe('a request in the name of another, without a link,', () => {
  it('is answered where it is in its own', async () => {
    for (const path of [configMaps, ...documents]) expect([path, await world.status(path, owner)]).toEqual([path, 200])
    expect(await world.status(tokens, 'node', { method: 'POST', body: wished })).toBe(201)
  })

  it.each(others)('reads nothing: %s', async (_what, headers) => {
    for (const asker of [owner, stranger, 'node'] as const) {
      expect(await world.status(configMaps, asker, { headers })).toBe(503)
      expect(await world.status(`${configMaps}/mine`, asker, { headers })).toBe(503)
      expect(await world.status(`${configMaps}?${watching}`, asker, { headers })).toBe(503)
    }
  })

  it.each(others)('gets no document: %s', async (_what, headers) => {
    for (const path of documents) expect([path, await world.status(path, owner, { headers })]).toEqual([path, 503])
  })

  it.each(others)('gets no token: %s', async (_what, headers) => {
    expect(await world.status(tokens, 'node', { method: 'POST', body: wished, headers })).toBe(503)
  })
})

const disguises: [what: string, headers: Record<string, string>][] = [
  ['of a kubelet', { 'user-agent': 'kubelet/v1.36.0 (linux/amd64) kubernetes/abcdef' }],
  ['of kube-proxy', { 'user-agent': 'kube-proxy/v1.36.0 (linux/amd64) kubernetes/abcdef' }],
  ['of a feed', { 'user-agent': 'causeway-feed' }],
  ['of a front proxy', { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters', 'x-remote-uid': '1' }],
  ['of the node', { 'x-remote-user': 'system:node:edge-1', 'x-remote-group': 'system:nodes' }],
  ['of one who is nearer', { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1' }],
]

describe('a disguise, without a link,', () => {
  it.each(disguises)('opens nothing: %s', async (_what, headers) => {
    for (const path of [configMaps, `${configMaps}/theirs`, `${configMaps}?${watching}`])
      for (const asker of [stranger, narrow, 'nobody'] as const) {
        const { status, body } = await world.ask(path, asker, { headers })
        expect([401, 403, 503], `${path}: ${status}`).toContain(status)
        expect(body).not.toContain(words.theirs)
      }
    expect(await world.status(tokens, stranger, { method: 'POST', body: wished, headers })).toBe(503)
  })

  it.each(disguises)('takes nothing from who may read: %s', async (_what, headers) => {
    expect(await world.status(configMaps, owner, { headers })).toBe(200)
  })
})

/** Each means the ConfigMap of another to somebody who reads carelessly. */
const tricks: readonly string[] = [
  `${configMaps}/mine/../theirs`,
  `${configMaps}/mine/%2e%2e/theirs`,
  `${configMaps}/mine%2f..%2ftheirs`,
  `${configMaps}/mine/..%2ftheirs`,
  `${configMaps}/mine;/../theirs`,
  `${configMaps}/theirs;mine`,
  `${configMaps}/theirs%00`,
  `${configMaps}/theirs%20`,
  `${configMaps}/theirs/`,
  `${configMaps}//theirs`,
  `${configMaps}/`,
  `${configMaps}//`,
  `${configMaps};x=y`,
  `${configMaps}%3f${mineOnly}`,
  `/${configMaps}`,
  `//api/v1/namespaces/default/configmaps`,
  '/api/v1//namespaces/default/configmaps',
  '/api/v1/namespaces//configmaps/theirs',
  '/api/v1/namespaces/other/../default/configmaps',
  '/api/v1/namespaces/default/ConfigMaps',
  '/api/v1/configmaps',
  `/api/v1/configmaps?${mineOnly}`,
  '/api/v1/configmaps?fieldSelector=metadata.namespace%3Ddefault%2Cmetadata.name%3Dtheirs',
  `/api/v1/watch/namespaces/default/configmaps?timeoutSeconds=1`,
  '/api/v1/watch/namespaces/default/configmaps/theirs?timeoutSeconds=1',
  '/api/v1/watch/namespaces/default/configmaps/mine/../theirs?timeoutSeconds=1',
  '/api/v1/watch/configmaps?timeoutSeconds=1',
  `/api/v1/watch/namespaces/default/configmaps/mine?${theirsOnly}&timeoutSeconds=1`,
  `/api/v1/proxy/namespaces/default/configmaps/theirs`,
  `${configMaps}/mine?${theirsOnly}`,
  `${configMaps}/mine?${theirsOnly}&${watching}`,
  `${configMaps}?${mineOnly}&${theirsOnly}`,
  `${configMaps}?${theirsOnly}&${mineOnly}`,
  `${configMaps}?${mineOnly}&${theirsOnly}&${watching}`,
  `${configMaps}?${theirsOnly}&${mineOnly}&${watching}`,
  `${configMaps}?${mineOnly}&fieldSelector=`,
  `${configMaps}?fieldSelector=&${mineOnly}`,
  `${configMaps}?fieldSelector=metadata.name%3Dmine%2Cmetadata.name%3Dtheirs`,
  `${configMaps}?fieldSelector=metadata.name%3Dmine%2Cmetadata.name%21%3Dmine`,
  `${configMaps}?fieldSelector=metadata.name%21%3Dmine`,
  `${configMaps}?fieldSelector=metadata.name%3Dmine;x`,
  `${configMaps}?x;${mineOnly}`,
  `${configMaps}?fieldSelector=metadata.name%3Dmine%ff`,
  `${configMaps}?fieldSelector=metadata.name%3D`,
  `${configMaps}?FieldSelector=metadata.name%3Dmine`,
  `${configMaps}?labelSelector=%21none`,
  `${configMaps}?labelSelector=metadata.name%3Dmine`,
  `${configMaps}?watch=0&watch=1&timeoutSeconds=1`,
  `${configMaps}?limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJtaW5lIn0`,
]

describe('a path or a query that can be read in two ways, without a link,', () => {
  it('means what it says where it says it plainly', async () => {
    for (const path of [`${configMaps}/mine`, `${configMaps}?${mineOnly}`, `${configMaps}?${mineOnly}&${watching}`]) {
      const { status, body } = await world.askInHaste(path, narrow)
      expect([path, status, body]).toEqual([path, 200, expect.stringContaining(words.mine)])
      expect(body).not.toContain(words.theirs)
    }
    expect((await world.ask(`${configMaps}/theirs`, owner)).body).toContain(words.theirs)
  })

  it.each(tricks)('shows no more than its sender may read: %s', async (path) => {
    const known = await world.askInHaste(path, narrow)
    expect(known.body).not.toContain(words.theirs)
    const unknown = await world.askInHaste(path, stranger)
    for (const word of Object.values(words)) expect(unknown.body).not.toContain(word)
    expect(unknown.status).not.toBe(200)
  })
})

describe('a request in the name of another, with a link,', () => {
  it('is never answered by a feed, and is judged by the API server', async () => {
    await world.restore()
    const watch = await world.watch(`${configMaps}?watch=1&resourceVersion=0`, owner)
    await until('the feed is followed', () => watch.told.includes('ADDED theirs'))
    const reads = [
      `${configMaps}?resourceVersion=0`,
      `${configMaps}?${watching}&resourceVersion=0`,
      `${configMaps}/mine`,
    ]
    for (const path of reads) {
      expect([path, (await world.askInHaste(path, owner)).status]).toEqual([path, 200])
      const headers = { 'impersonate-user': 'system:serviceaccount:default:owner' }
      const { status, body } = await world.askInHaste(path, owner, { headers })
      expect([path, status, body]).toEqual([path, 403, expect.stringContaining('impersonate')])
    }
  })
})
