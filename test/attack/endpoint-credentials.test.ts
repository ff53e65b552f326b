/** Whoever calls the endpoint is for the API server who they are, and nobody else, whatever went before. */
import type { ClientHttp2Session } from 'node:http2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { userName } from '../../src/identity/distinguished-name.ts'
import { nodeSubject } from '../../src/identity/node-name.ts'
import { pods, services } from '../../src/kube/index.ts'
import { ask, bearer, keys, SELF_REVIEW, whoAmI } from './endpoint-asking.ts'
import { AttackWorld, NODE } from './endpoint-world.ts'

const anonymous = 'system:anonymous'
const node = `system:node:${NODE}`
const exec = '/api/v1/namespaces/default/pods/p/exec?command=id'

let world: AttackWorld
let pod: string
beforeAll(async () => {
  world = await AttackWorld.start()
  pod = await world.token('pod')
})
afterAll(() => world.stop())

const secrets = (session: ClientHttp2Session, headers = {}) =>
  ask(session, { ':path': '/api/v1/namespaces/kube-system/secrets', ...headers })

/** The pools that have had a connection: each is for one kind of credential. */
const poolsInUse = (): string[] =>
  world.upstream.status.pools.filter(({ connections }) => connections > 0).map(({ pool }) => pool)

describe('a caller without a credential that counts', () => {
  it('no token', async () => {
    const session = world.http2()
    expect(await whoAmI(session)).toBe(anonymous)
    expect(await secrets(session)).toMatchObject({ status: 403, body: expect.stringContaining(anonymous) })
  })

  it('a forged token', async () => {
    const [head, claims] = pod.split('.')
    const forged = [
      'made-up',
      `${head}.${claims}.${Buffer.from('signature').toString('base64url')}`,
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`,
      `${head}.${Buffer.from('{"sub":"system:admin"}').toString('base64url')}.${pod.split('.')[2]}`,
    ]
    for (const token of forged) expect((await secrets(world.http2(), bearer(token))).status).toBe(401)
  })

  it('an expired token', async () => {
    const agoSeconds = Math.floor(Date.now() / 1000) - 3600
    const expired = await world.resigned(pod, { iat: agoSeconds - 10, nbf: agoSeconds - 10, exp: agoSeconds })
    expect(await whoAmI(world.http2(), bearer(await world.resigned(pod, {})))).toBe('system:serviceaccount:default:pod')
    expect((await secrets(world.http2(), bearer(expired))).status).toBe(401)
  })

  it('a token for another audience', async () => {
    const foreign = await world.token('pod', ['vault'])
    expect((await secrets(world.http2(), bearer(foreign))).status).toBe(401)
  })

  it('a token of a service account that is gone', async () => {
    const gone = await world.resigned(pod, {
      'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'no', uid: 'no' } },
    })
    expect((await secrets(world.http2(), bearer(gone))).status).toBe(401)
  })
})

describe('certificates', () => {
  it('a token beside the certificate of the node', async () => {
    const session = world.http2(keys(world.nodePair))
    for (const authorization of [`Bearer ${pod}`, `bearer ${pod}`, 'Basic YTpi', 'Bearer', '']) {
      const { status, body } = await secrets(session, { authorization })
      expect([status, JSON.parse(body).reason]).toEqual([401, 'Unauthorized'])
    }
    const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(pod).toString('base64url')}, v4.channel.k8s.io`
    const upgrade = `GET ${exec} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
    const said = await world.say(`${upgrade}Sec-WebSocket-Protocol: ${protocol}\r\n\r\n`, keys(world.nodePair))
    expect(said).toMatch(/^HTTP\/1.1 401 /)
  })

  it.each([
    ['of another node', nodeSubject('edge-2')],
    ['of the administrator', userName('kubernetes-admin', ['system:masters'])],
    ['of the node in another group', userName(node, ['system:masters'])],
    ['of the node in one group too many', userName(node, ['system:nodes', 'system:masters'])],
    ['of a name that begins like the node’s', nodeSubject(`${NODE}0`)],
  ])('a certificate from the right CA %s', async (_whose, subject) => {
    const session = world.http2(keys(await world.issue(subject)))
    for (const more of [{}, bearer(pod)]) expect((await secrets(session, more)).status).toBe(401)
    expect((await ask(session, { ':path': '/version' })).status).toBe(401)
  })

  it('a certificate of the node for servers', async () => {
    const session = world.http2(keys(await world.issue(nodeSubject(NODE), 'serverAuth')))
    expect((await secrets(session)).status).toBe(401)
  })
})

describe('one caller after another', () => {
  it('an anonymous request right after a kubelet’s', async () => {
    const [kubelet, other] = [world.http2(keys(world.nodePair)), world.http2()]
    for (let round = 0; round < 5; round += 1) {
      const asked = [whoAmI(kubelet), whoAmI(other), whoAmI(kubelet), whoAmI(world.http2()), whoAmI(other, bearer(pod))]
      expect(await Promise.all(asked)).toEqual([node, anonymous, node, anonymous, 'system:serviceaccount:default:pod'])
      expect(await whoAmI(other)).toBe(anonymous)
    }
    expect(poolsInUse().toSorted()).toEqual(['node', 'open', 'token'])
  })

  it('an anonymous request right after a kubelet’s, and after a token’s, over HTTP/1.1', async () => {
    const review = '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
    const post = (more: string): string =>
      `POST ${SELF_REVIEW} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${review.length}\r\n${more}\r\n${review}`
    const last = 'Connection: close\r\n'
    const names = (said: string): string[] =>
      [...said.matchAll(/"username": ?"([^"]*)"|User \\"([^\\]*)\\"/g)].map(([, a, b]) => a ?? b ?? '')
    expect(names(await world.say(post('') + post(last), keys(world.nodePair)))).toEqual([node, node])
    // One connection, whose requests may all be under way at once.
    const mixed = post('') + post(`Authorization: Bearer ${pod}\r\n`) + post('') + post(last)
    expect(names(await world.say(mixed))).toEqual([
      anonymous,
      'system:serviceaccount:default:pod',
      anonymous,
      anonymous,
    ])
  })

  it('an anonymous request right after an upgrade of a kubelet', async () => {
    const upgrade = `POST ${exec} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`
    const byNode = await world.say(upgrade, keys(world.nodePair))
    expect(byNode).toContain(node)
    expect(await whoAmI(world.http2())).toBe(anonymous)
    const byNobody = await world.say(upgrade)
    expect(byNobody).toMatch(/^HTTP\/1.1 403 /)
    expect(byNobody).toContain(anonymous)
    expect(await whoAmI(world.http2(keys(world.nodePair)))).toBe(node)
  })

  it('an upgrade with a foreign token', async () => {
    for (const [protocol, more] of [
      ['SPDY/3.1', 'Authorization: Bearer made-up\r\n'],
      ['websocket', 'Sec-WebSocket-Protocol: v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.bWFkZS11cA\r\n'],
    ]) {
      const head = `GET ${exec} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${more}\r\n`
      expect(await world.say(head)).toMatch(/^HTTP\/1.1 401 /)
    }
  })
})

describe('claims in headers', () => {
  it('a pod that poses as the kubelet by its User-Agent', async () => {
    await world.admin
      .resource(services)
      .in('default')
      .create({ metadata: { name: 's' }, spec: { ports: [{ port: 1 }] } })
    const session = world.http2()
    for (const agent of ['kubelet/v1.36.0', 'kube-proxy/v1.36.0 (linux/amd64)', 'causeway-endpoint']) {
      const posing = { 'user-agent': agent, ...bearer(pod) }
      expect(await whoAmI(session, posing)).toBe('system:serviceaccount:default:pod')
      for (const path of [
        '/api/v1/services',
        '/api/v1/nodes',
        `/api/v1/nodes/${NODE}`,
        '/api/v1/secrets',
        '/api/v1/services?watch=1',
      ])
        expect((await ask(session, { ':path': path, ...posing })).status).toBe(403)
      expect((await ask(session, { ':path': '/api/v1/services', 'user-agent': agent })).status).toBe(403)
    }
  })

  it('impersonation without the right to it', async () => {
    const session = world.http2()
    const claims = { 'impersonate-user': 'kubernetes-admin', 'impersonate-group': 'system:masters' }
    for (const who of [{}, bearer(pod)]) expect((await secrets(session, { ...claims, ...who })).status).toBe(403)
    expect((await secrets(world.http2(keys(world.nodePair)), claims)).status).toBe(403)
    expect((await world.admin.resource(pods).in('default').list()).items).toEqual([])
  })

  it('the headers of a front proxy', async () => {
    const claims = {
      'x-remote-user': 'kubernetes-admin',
      'x-remote-group': 'system:masters',
      'x-remote-uid': '0',
      'x-remote-extra-scopes': 'all',
    }
    expect(await whoAmI(world.http2(), claims)).toBe(anonymous)
    expect(await whoAmI(world.http2(), { ...claims, ...bearer(pod) })).toBe('system:serviceaccount:default:pod')
    expect(await whoAmI(world.http2(keys(world.nodePair)), claims)).toBe(node)
  })
})
