/** Whose token it is without the API server, beside what a real kube-apiserver says of the same token while it is there. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createProbe } from '../../src/edge/reach/probe.ts'
import { DeletedPods } from '../../src/edge/readers/offline-tokens/deleted-pods.ts'
import { createFetchDocument } from '../../src/edge/readers/offline-tokens/fetch-document.ts'
import { OfflineTime } from '../../src/edge/readers/offline-tokens/offline-time.ts'
import { OfflineTokens } from '../../src/edge/readers/offline-tokens/offline-tokens.ts'
import { RejectedTokens } from '../../src/edge/readers/offline-tokens/rejected-tokens.ts'
import { SeenTokens } from '../../src/edge/readers/offline-tokens/seen-tokens.ts'
import { SigningKeys } from '../../src/edge/readers/offline-tokens/signing-keys.ts'
import { SteadyTime } from '../../src/edge/readers/steady-time.ts'
import { PooledUpstream } from '../../src/edge/upstream/pooled-upstream.ts'
import { BytesSource } from '../../src/http/body/bytes-source.ts'
import { readCertificates } from '../../src/identity/certificate.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { streamOf } from '../worlds/byte-sources.ts'
import { KeptBytes } from '../worlds/kept-bytes.ts'
import { loudNet } from '../worlds/loud-net.ts'
import { upstreamRequest } from '../worlds/upstream-world.ts'
import { type ControlPlane, describeReal, kubectl, startControlPlane } from './harness.ts'

const objects = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: shop}
---
apiVersion: v1
kind: Node
metadata: {name: edge-1}
---
apiVersion: v1
kind: Secret
metadata: {name: bound, namespace: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: reader-0, namespace: shop}
spec: {serviceAccountName: reader, nodeName: edge-1, containers: [{name: a, image: a}]}
`

interface Reviewed {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

describeReal('tokens without the API server', () => {
  let plane: ControlPlane
  let upstream: PooledUpstream
  let keys: SigningKeys
  let tokens: OfflineTokens
  let fetchToken: string | undefined
  const never = new AbortController().signal

  beforeAll(async () => {
    plane = await startControlPlane()
    upstream = await upstreamTo(plane)
    const common = { clock: systemClock, logger: pino({ level: 'silent' }) }
    const kept = (): KeptBytes => new KeptBytes()
    const fetch = createFetchDocument({ upstream, token: () => fetchToken, clock: systemClock })
    keys = new SigningKeys({ fetch, kept: kept(), random: () => 1, ...common })
    const offlineTime = new OfflineTime({ kept: kept(), ...common })
    const seen = new SeenTokens({ kept: kept(), offlineTime, ...common })
    const deletedPods = new DeletedPods({ kept: kept(), ...common })
    const rejected = new RejectedTokens({ kept: kept(), ...common })
    const time = new SteadyTime({ kept: kept(), ...common })
    tokens = new OfflineTokens({ keys, seen, rejected, deletedPods, time, graceMs: 0 })
    await kubectl(plane, ['apply', '-f', '-'], objects)
  })
  afterAll(async () => {
    await (await upstream?.start())?.stop(AbortSignal.abort())
    await plane?.stop()
  })

  const mint = async (...flags: string[]): Promise<string> =>
    (await kubectl(plane, ['create', 'token', 'reader', '-n', 'shop', ...flags])).trim()

  const whoAmI = async (token: string): Promise<Reviewed | undefined> => {
    const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' })
    const answer = await upstream.request(
      upstreamRequest({
        pool: 'open',
        method: 'POST',
        target: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        headers: [
          ['authorization', `Bearer ${token}`],
          ['content-type', 'application/json'],
        ],
        body: new BytesSource(Buffer.from(review)),
      }),
    )
    const { status } = (await json(streamOf(answer.body))) as { status: { userInfo?: Reviewed } }
    return status.userInfo
  }

  it('are the same users, field by field, but for the id of the credential', async () => {
    fetchToken = await mint()
    await keys.refresh(never)
    const wishes = [
      [],
      ['--bound-object-kind', 'Pod', '--bound-object-name', 'reader-0'],
      ['--bound-object-kind', 'Node', '--bound-object-name', 'edge-1'],
      ['--bound-object-kind', 'Secret', '--bound-object-name', 'bound'],
    ]
    for (const wish of wishes) {
      const token = await mint(...wish)
      const { username, uid, groups, extra = {} } = (await whoAmI(token)) as Reviewed
      const { 'authentication.kubernetes.io/credential-id': credential, ...rest } = extra
      expect(credential).toHaveLength(1)
      expect(await tokens.verify(token, Date.now())).toEqual({
        kind: 'user',
        expiredForMs: 0,
        user: { name: username, uid, groups, extra: rest },
      })
    }
  })

  it('are refused where the API server refuses them', async () => {
    const vault = await mint('--audience', 'vault')
    expect(await whoAmI(vault)).toBeUndefined()
    expect(await tokens.verify(vault, Date.now())).toMatchObject({
      kind: 'forged',
      why: 'it is not for the API server',
    })
    expect(await tokens.verify(plane.adminToken, Date.now())).toEqual({ kind: 'foreign' })
  })

  it('outlive the API server, whose absence a probe tells from its start', async () => {
    const token = await mint()
    const probe = createProbe({ upstream, pool: () => 'open', clock: systemClock })
    expect(await probe(never)).toMatchObject({ outcome: 'ready' })
    await plane.killApiServer()
    expect(await probe(never)).toMatchObject({ outcome: 'failed' })
    expect(await tokens.verify(token, Date.now())).toMatchObject({ kind: 'user' })
    await expect(keys.refresh(never)).rejects.toThrow()
    expect(await tokens.verify(token, Date.now())).toMatchObject({ kind: 'user' })
  })
})

async function upstreamTo(plane: ControlPlane): Promise<PooledUpstream> {
  const { hostname, port } = new URL(plane.server)
  const ca = readCertificates(await readFile(plane.caFile), 'the CA')
  return new PooledUpstream({
    open: async () => {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      return socket
    },
    serverName: hostname,
    trust: () => ca,
    clock: systemClock,
    nodePair: () => undefined,
    rttMs: () => 1,
    logger: pino({ level: 'silent' }),
    net: loudNet(),
    registry: new Registry(),
  })
}
