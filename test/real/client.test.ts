/** The client against a real kube-apiserver: verbs, representations, paging, errors, identities, streams, upgrades. */
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { KubeClient } from '../../src/kube/client/client.ts'
import type { ConnectionConfig } from '../../src/kube/client/connection.ts'
import {
  configMaps,
  leases,
  namespaces,
  pods,
  selfSubjectAccessReviews,
  selfSubjectReviews,
  serviceAccounts,
  tokenRequests,
  tokenReviews,
} from '../../src/kube/client/kinds.ts'
import { loadKubeconfig } from '../../src/kube/client/kubeconfig.ts'
import { protobufCodec } from '../../src/kube/client/protobuf-codec.ts'
import { TransportError } from '../../src/kube/client/transport-error.ts'
import type { ConfigMap, Pod } from '../../src/kube/client/types.ts'
import type { WatchEvent } from '../../src/kube/objects.ts'
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  isTooLargeResourceVersion,
  isUnauthorized,
} from '../../src/kube/status/predicates.ts'
import { ApiError } from '../../src/kube/status/status.ts'
import { type ControlPlane, describeReal, kubectl, startControlPlane } from './harness.ts'

const namespace = 'client-test'

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

describeReal('client', () => {
  let plane: ControlPlane
  let connection: ConnectionConfig
  let client: KubeClient

  beforeAll(async () => {
    plane = await startControlPlane()
    connection = await loadKubeconfig({ file: plane.kubeconfigFile })
    client = new KubeClient(connection)
    await client.resource(namespaces).create({ metadata: { name: namespace } })
    await client
      .resource(serviceAccounts)
      .in(namespace)
      .create({ metadata: { name: 'worker' } })
  })

  afterAll(async () => {
    await client?.close()
    await plane?.stop()
  })

  const maps = () => client.resource(configMaps).in(namespace)

  it('creates, reads, updates, patches in four ways and deletes', async () => {
    const created = await maps().create({ metadata: { name: 'one' }, data: { a: '1' } })
    expect(created).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace }, data: { a: '1' } })
    const updated = await maps().update({ ...created, data: { a: '2' } })
    expect(await maps().get('one')).toEqual(updated)
    await maps().patch('one', { type: 'json', operations: [{ op: 'add', path: '/data/json', value: 'x' }] })
    await maps().patch('one', { type: 'merge', patch: { data: { merge: 'x', a: null } } })
    await maps().patch('one', { type: 'strategic', patch: { data: { strategic: 'x' } } })
    const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' }, data: { apply: 'x' } }
    const applied = await maps().patch('one', { type: 'apply', object, fieldManager: 'test', force: true })
    expect(applied.data).toEqual({ json: 'x', merge: 'x', strategic: 'x', apply: 'x' })
    expect(await maps().delete('one')).toMatchObject({ kind: 'Status', status: 'Success' })
    expect(await failureOf(maps().get('one'))).toSatisfy(isNotFound)
  })

  it('turns refusals into API errors that say what happened', async () => {
    const created = await maps().create({ metadata: { name: 'errors' } })
    expect(await failureOf(maps().create({ metadata: { name: 'errors' } }))).toSatisfy(isAlreadyExists)
    await maps().update({ ...created, data: { a: '1' } })
    expect(await failureOf(maps().update({ ...created, data: { a: '2' } }))).toSatisfy(isConflict)
    const invalid = await failureOf(maps().create({ metadata: { name: 'Not_A_Name' } }))
    expect(invalid).toSatisfy(isInvalid)
    expect((invalid as ApiError).status.details?.causes?.[0]?.field).toBe('metadata.name')
    const future = await failureOf(maps().list({ resourceVersion: '999999999' }, { maxRetries: 0 }))
    expect(future).toSatisfy(isTooLargeResourceVersion)
  })

  it('reads pages of one snapshot', async () => {
    for (let index = 0; index < 7; index++) {
      await maps().create({ metadata: { name: `page-${index}`, labels: { set: 'pages' } } })
    }
    const sizes: number[] = []
    for await (const page of maps().pages({ limit: 3, labelSelector: 'set=pages' })) {
      sizes.push(page.items.length)
      // The snapshot stands although the collection changes under the reader.
      await maps().delete(`page-${6 - sizes.length}`)
    }
    expect(sizes).toEqual([3, 3, 1])
    const all = await maps().listAll({ limit: 2, labelSelector: 'set=pages' })
    expect(all.items.map((item) => item.metadata?.name)).toEqual(['page-0', 'page-1', 'page-2', 'page-6'])
    expect(all.items[0]).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
    expect(all.metadata.continue).toBeUndefined()
    await maps().deleteCollection({ labelSelector: 'set=pages' })
    expect((await maps().list({ labelSelector: 'set=pages' })).items).toEqual([])
  })

  it('reads other representations', async () => {
    const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1'
    const table = await client.resource(namespaces).get(namespace, {}, { accept })
    expect(table).toMatchObject({ kind: 'Table', columnDefinitions: expect.any(Array) })
    const protobuf = await client.fetch({
      method: 'GET',
      path: `/api/v1/namespaces/${namespace}`,
      headers: [['accept', 'application/vnd.kubernetes.protobuf']],
    })
    expect(protobuf.contentType).toBe('application/vnd.kubernetes.protobuf')
    expect(protobuf.body.subarray(0, 4).toString('latin1')).toBe('k8s\0')
  })

  it('sees what kubectl sees', async () => {
    const manifest = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'theirs' },
      data: { a: '1' },
    })
    await kubectl(plane, ['create', '--namespace', namespace, '-f', '-'], manifest)
    const theirs = await kubectl(plane, [
      'get',
      'configmap',
      'theirs',
      '--namespace',
      namespace,
      '-o',
      'json',
      '--show-managed-fields',
    ])
    expect(await maps().get('theirs')).toEqual(JSON.parse(theirs))
  })

  it('speaks protobuf where the kind has it, and sees the same objects', async () => {
    const protobuf = new KubeClient(connection, { codec: protobufCodec })
    const compact = protobuf.resource(configMaps).in(namespace)
    const watch = await compact.watch({ resourceVersion: (await compact.list()).metadata.resourceVersion ?? '' })
    const created = await compact.create({ metadata: { name: 'compact', labels: { a: 'b' } }, data: { key: 'value' } })
    expect(created).toEqual(await maps().get('compact'))
    for await (const event of watch) {
      expect(event).toEqual({ type: 'ADDED', object: created })
      break
    }
    expect((await compact.listAll({ labelSelector: 'a=b' })).items).toEqual([created])
    expect(await failureOf(compact.get('absent'))).toSatisfy(isNotFound)
    await compact.delete('compact')
    await protobuf.close()
  })

  it('watches from a version on, and ends when told to', async () => {
    const { metadata } = await maps().list()
    const watch = await maps().watch({ resourceVersion: metadata.resourceVersion ?? '' })
    await maps().create({ metadata: { name: 'watched' } })
    await maps().patch('watched', { type: 'merge', patch: { data: { a: '1' } } })
    await maps().delete('watched')
    const seen: WatchEvent<ConfigMap>[] = []
    for await (const event of watch) {
      seen.push(event)
      if (event.type === 'DELETED') break
    }
    expect(seen.map((event) => event.type)).toEqual(['ADDED', 'MODIFIED', 'DELETED'])
  })

  it('ends a watch quietly when its time is over', async () => {
    const watch = await maps().watch({ timeoutSeconds: 1, resourceVersion: '0' })
    for await (const event of watch) expect(event.type).toBe('ADDED')
  })

  it('ends a watch quietly when it is closed during a read', async () => {
    for (const own of [client, new KubeClient(connection, { codec: protobufCodec })]) {
      const { metadata } = await maps().list()
      const watch = await own
        .resource(configMaps)
        .in(namespace)
        .watch({ resourceVersion: metadata.resourceVersion ?? '' })
      const next = watch[Symbol.asyncIterator]().next()
      watch.close()
      expect(await next).toEqual({ done: true, value: undefined })
      if (own !== client) await own.close()
    }
  })

  it('keeps integers that a number cannot hold, through reading, writing and patching', async () => {
    const largest = 9007199254740993n
    const spec = { containers: [{ name: 'main', image: 'none' }], terminationGracePeriodSeconds: largest }
    const mine = client.resource(pods).in(namespace)
    await mine.create({ metadata: { name: 'patient' }, spec })
    const read = await mine.get('patient')
    expect(read.spec).toMatchObject({ terminationGracePeriodSeconds: largest })
    const updated = await mine.update({ ...read, metadata: { ...read.metadata, labels: { a: 'b' } } })
    expect(updated.spec).toMatchObject({ terminationGracePeriodSeconds: largest })
    const patch = { type: 'merge', patch: { spec: { activeDeadlineSeconds: 2147483647n } } } as const
    expect((await mine.patch('patient', patch)).spec).toMatchObject({ activeDeadlineSeconds: 2147483647 })
    await mine.delete('patient', { gracePeriodSeconds: 0 })
  })

  it('reports what the server cannot give', async () => {
    const query = { sendInitialEvents: true, allowWatchBookmarks: true, resourceVersionMatch: 'NotOlderThan' } as const
    const read = async () => {
      const watch = await maps().watch({ ...query, resourceVersion: '999999999' })
      for await (const event of watch) expect(event.type).not.toBe('ERROR')
    }
    expect(await failureOf(read())).toSatisfy(isTooLargeResourceVersion)
  })

  it('aborts a watch with the reason of the signal', async () => {
    const stop = new AbortController()
    const watch = await maps().watch({}, { signal: stop.signal })
    const iterator = watch[Symbol.asyncIterator]()
    const reason = new Error('enough')
    stop.abort(reason)
    const drain = async () => {
      while (!(await iterator.next()).done);
    }
    expect(await failureOf(drain())).toBe(reason)
  })

  it('uses subresources, reviews and the kinds of other groups', async () => {
    const worker = client.resource(serviceAccounts).in(namespace).subresource('worker', tokenRequests)
    const { status } = await worker.create({ spec: { audiences: [], expirationSeconds: 600 } })
    const review = await client.resource(tokenReviews).create({ spec: { token: status?.token ?? '' } })
    expect(review.status?.user?.username).toBe(`system:serviceaccount:${namespace}:worker`)
    const self = await client.resource(selfSubjectReviews).create({})
    expect(self.status?.userInfo?.groups).toContain('system:masters')
    const access = await client.resource(selfSubjectAccessReviews).create({
      spec: { resourceAttributes: { verb: 'create', resource: 'pods', namespace } },
    })
    expect(access.status?.allowed).toBe(true)
    const lease = await client
      .resource(leases)
      .in(namespace)
      .create({
        metadata: { generateName: 'lease-' },
        spec: { holderIdentity: 'me', renewTime: '2026-01-01T00:00:00.000000Z' },
      })
    expect(lease.metadata?.name).toMatch(/^lease-/)
    const roles = await client
      .resource({ group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', namespaced: false })
      .list({ limit: 1 })
    expect(roles.items).toHaveLength(1)
  })

  it('acts as a client certificate, a token, another user, or nobody', async () => {
    const whoami = async (change: Partial<ConnectionConfig>) => {
      const other = new KubeClient({ ...connection, credentials: { type: 'anonymous' }, ...change })
      try {
        const review = await other.resource(selfSubjectReviews).create({})
        return review.status?.userInfo?.username
      } finally {
        await other.close()
      }
    }
    const clientCertificate = {
      certificate: { file: plane.clientCertificateFile },
      key: { file: plane.clientKeyFile },
    }
    expect(await whoami({ tls: { ...connection.tls, clientCertificate } })).toBe('admin')
    const impersonation = { user: 'jane', groups: ['system:authenticated', 'devs'], extra: { 'Scopes/x': ['a', 'b'] } }
    expect(await whoami({ credentials: connection.credentials, impersonation })).toBe('jane')
    const foreign = { user: 'Zoë 雪', groups: ['system:authenticated'], extra: {} }
    expect(await whoami({ credentials: connection.credentials, impersonation: foreign })).toBe('Zoë 雪')
    const wrongToken = { type: 'token', token: { data: Buffer.from('wrong') } } as const
    expect(await failureOf(whoami({ credentials: wrongToken }))).toSatisfy(isUnauthorized)
    expect(await failureOf(whoami({}))).toSatisfy(isForbidden)
  })

  it('verifies the server', async () => {
    const listWith = async (change: Partial<ConnectionConfig>) => {
      const other = new KubeClient({ ...connection, ...change })
      try {
        return (await other.resource(namespaces).list()).items.length
      } finally {
        await other.close()
      }
    }
    const { ca: _ca, ...untrusting } = connection.tls
    expect(await failureOf(listWith({ tls: untrusting }))).toMatchObject({ name: 'TransportError', code: 'tls' })
    const wrongName = { ...connection.tls, serverName: 'example.org' }
    expect(await failureOf(listWith({ tls: wrongName }))).toMatchObject({ name: 'TransportError', code: 'tls' })
    expect(await listWith({ tls: { ...connection.tls, serverName: 'kubernetes' } })).toBeGreaterThan(0)
    expect(await listWith({ tls: { skipVerify: true } })).toBeGreaterThan(0)
  })

  it('runs over any byte stream that the caller dials', async () => {
    const dialled: string[] = []
    const tunnelled = new KubeClient(connection, {
      dial: async ({ host, port }) => {
        dialled.push(`${host}:${port}`)
        return connect(port, host)
      },
    })
    expect((await tunnelled.resource(namespaces).get(namespace)).metadata?.name).toBe(namespace)
    expect(dialled).toEqual([new URL(plane.server).host])
    await tunnelled.close()
  })

  it('hears why an upgrade was declined', async () => {
    const pod: Pod = { metadata: { name: 'idle' }, spec: { containers: [{ name: 'main', image: 'none' }] } }
    await client.resource(pods).in(namespace).create(pod)
    const path = `/api/v1/namespaces/${namespace}/pods/idle/exec?command=true&stdout=true`
    const headers: Array<[string, string]> = [
      ['sec-websocket-version', '13'],
      ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
      ['sec-websocket-protocol', 'v5.channel.k8s.io'],
    ]
    const failure = await failureOf(client.upgrade({ method: 'GET', path, headers }, 'websocket'))
    expect(failure).toBeInstanceOf(ApiError)
    expect((failure as ApiError).message).toContain('pod idle does not have a host assigned')
  })

  it('upgrades to a WebSocket watch', async () => {
    const headers: Array<[string, string]> = [
      ['sec-websocket-version', '13'],
      ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
      // Without an origin the server's WebSocket library answers 403.
      ['origin', plane.server],
    ]
    const path = `/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3D${namespace}`
    const stream = await client.upgrade({ method: 'GET', path, headers }, 'websocket')
    let received = Buffer.alloc(0)
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk])
      if (received.includes(`"name":"${namespace}"`)) break
    }
    expect(received.includes('"type":"ADDED"')).toBe(true)
  })

  it('breaks everything under way when it is closed', async () => {
    const closing = new KubeClient(connection)
    const watch = await closing.resource(namespaces).watch()
    const read = async () => {
      for await (const event of watch) expect(event.type).toBe('ADDED')
    }
    const reading = failureOf(read())
    await closing.close()
    expect(await reading).toBeInstanceOf(TransportError)
    expect(await failureOf(closing.resource(namespaces).list())).toMatchObject({ code: 'closed' })
  })
}, ['etcd', 'kube-apiserver', 'kubectl'])
