import { execFile } from 'node:child_process'
import { once, setMaxListeners } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, json, text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { PooledUpstream, type PooledUpstreamOptions } from '../../src/edge/upstream/pooled-upstream.ts'
import {
  type PoolName,
  type UpstreamAnswer,
  UpstreamError,
  type UpstreamRequest,
} from '../../src/edge/upstream/upstream.ts'
import { readCertificates } from '../../src/identity/certificate.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { sourceOf, streamOf } from '../worlds/byte-sources.ts'
import { loudNet } from '../worlds/loud-net.ts'
import { upstreamRequest } from '../worlds/upstream-world.ts'
import { type ControlPlane, describeReal, kubectl, startControlPlane } from './harness.ts'

const run = promisify(execFile)

describeReal('the upstream at a real API server', () => {
  let plane: ControlPlane
  let options: PooledUpstreamOptions
  let upstream: PooledUpstream
  let authorization: readonly (readonly [string, string])[]

  beforeAll(async () => {
    // One request of fifty is told to go elsewhere next time; that is the highest chance an API server allows.
    plane = await startControlPlane({ apiServerFlags: ['--goaway-chance=0.02'] })
    options = await optionsFor(plane)
    upstream = new PooledUpstream(options)
    authorization = [['authorization', `Bearer ${plane.adminToken}`]]
    await kubectl(plane, ['create', 'namespace', 'demo'])
  })
  afterAll(async () => {
    await (await upstream?.start())?.stop(AbortSignal.abort())
    await plane?.stop()
  })

  const ask = async (target: string, request: Partial<UpstreamRequest> = {}): Promise<UpstreamAnswer> =>
    await upstream.request(upstreamRequest({ target, headers: authorization, ...request }))

  const whoAmI = async (pool: PoolName, headers: UpstreamRequest['headers']): Promise<unknown> => {
    const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' })
    const answer = await ask('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      pool,
      method: 'POST',
      headers: [...headers, ['content-type', 'application/json']],
      body: sourceOf(Readable.from([Buffer.from(review)])),
    })
    const { status, message } = (await json(streamOf(answer.body))) as { status: unknown; message?: string }
    const known = status as { userInfo?: { username: string } }
    return known.userInfo?.username ?? message
  }

  it('is who each pool says it is, whatever ran before', async () => {
    const forged = [['authorization', 'Bearer forged']] as const
    for (let round = 0; round < 2; round++) {
      expect(await whoAmI('node', [])).toBe('system:node:edge-1')
      expect(await whoAmI('token', authorization)).toBe('admin')
      expect(await whoAmI('open', [])).toContain('system:anonymous')
      expect(await whoAmI('open', forged)).toBe('Unauthorized')
    }
  })

  it('gets, lists and creates, in any representation', async () => {
    const protobuf = await ask('/api/v1/namespaces/demo', {
      headers: [...authorization, ['accept', 'application/vnd.kubernetes.protobuf']],
    })
    expect(protobuf.headers).toContainEqual(['content-type', 'application/vnd.kubernetes.protobuf'])
    expect((await buffer(streamOf(protobuf.body))).subarray(0, 4).toString('latin1')).toBe('k8s\0')
    const large = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'large' }, data: { a: 'x'.repeat(900_000) } }
    const created = await ask('/api/v1/namespaces/demo/configmaps', {
      method: 'POST',
      headers: [...authorization, ['content-type', 'application/json']],
      body: sourceOf(Readable.from([Buffer.from(JSON.stringify(large))])),
    })
    expect(created.status).toBe(201)
    await buffer(streamOf(created.body))
    const list = await ask('/api/v1/namespaces/demo/configmaps')
    const { items } = (await json(streamOf(list.body))) as { items: { data: { a: string } }[] }
    expect(items[0]?.data.a).toHaveLength(900_000)
    const head = await ask('/api/v1/namespaces/demo', { method: 'HEAD' })
    expect(head.status).toBe(405)
    expect((await ask('/healthz', { method: 'HEAD' })).status).toBe(200)
  })

  it('keeps warnings apart', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'warned', annotations: { 'seccomp.security.alpha.kubernetes.io/pod': 'runtime/default' } },
      spec: { containers: [{ name: 'a', image: 'a', unknownOne: 1, unknownTwo: 2 }] },
    }
    const answer = await ask('/api/v1/namespaces/demo/pods?dryRun=All&fieldValidation=Warn', {
      method: 'POST',
      headers: [...authorization, ['content-type', 'application/json']],
      body: sourceOf(Readable.from([Buffer.from(JSON.stringify(pod))])),
    })
    await buffer(streamOf(answer.body))
    expect(answer.headers.filter(([name]) => name === 'warning').length).toBeGreaterThanOrEqual(2)
  })

  it('watches until it goes away, and the API server sees that at once', async () => {
    const gone = new AbortController()
    const watch = await ask('/api/v1/namespaces/demo/secrets?watch=1', { signal: gone.signal })
    const event = once(streamOf(watch.body), 'data')
    await kubectl(plane, ['create', 'secret', 'generic', 'seen', '--namespace=demo'])
    expect(String((await event)[0])).toContain('"ADDED"')
    await expect.poll(openWatches).toBeGreaterThan(0)
    const open = await openWatches()
    gone.abort(new Error('enough'))
    await expect.poll(openWatches, { message: 'the API server still has the watch' }).toBeLessThan(open)
  })

  async function openWatches(): Promise<number> {
    const metrics = await text(streamOf((await ask('/metrics')).body))
    const line = metrics
      .split('\n')
      .find((each) => /^apiserver_longrunning_requests\{.*resource="secrets".*scope="namespace".*WATCH/.test(each))
    return Number(line?.split(' ').at(-1) ?? 0)
  }

  it('has more than one connection for 101 watches, all of which hear an event', async () => {
    const gone = new AbortController()
    setMaxListeners(101, gone.signal)
    const target = '/api/v1/namespaces/demo/configmaps?watch=1&fieldSelector=metadata.name%3Dheard'
    const watches = await Promise.all(Array.from({ length: 101 }, () => ask(target, { signal: gone.signal })))
    const [, pool] = upstream.status.pools
    expect(pool?.connections).toBeGreaterThanOrEqual(2)
    expect(pool?.streams).toBeGreaterThanOrEqual(101)
    const events = Promise.all(watches.map(({ body }) => once(streamOf(body), 'data')))
    await kubectl(plane, ['create', 'configmap', 'heard', '--namespace=demo'])
    for (const [event] of await events) expect(String(event)).toContain('"ADDED"')
    gone.abort(new Error('enough'))
  })

  it('loses nothing when the API server says GOAWAY now and then', async () => {
    const gone = new AbortController()
    const watch = await ask('/api/v1/namespaces/demo/secrets?watch=1', { signal: gone.signal })
    const opens = async (): Promise<number> => {
      const metric = await options.registry.getSingleMetric('causeway_edge_upstream_opens_total')?.get()
      return metric?.values.find(({ labels }) => labels['pool'] === 'token' && labels['result'] === 'ok')?.value ?? 0
    }
    const before = await opens()
    // Nobody knows when it says so.
    for (let round = 0; round < 20 || (await opens()) === before; round++) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/api/v1/namespaces/demo')))
      for (const { status, body } of answers) {
        expect(status).toBe(200)
        await buffer(streamOf(body))
      }
    }
    expect(await opens()).toBeGreaterThan(before)
    // The connection of the watch drains, and the watch goes on.
    const event = once(streamOf(watch.body), 'data')
    await kubectl(plane, ['create', 'secret', 'generic', 'seen-later', '--namespace=demo'])
    expect(String((await event)[0])).toContain('seen')
    gone.abort(new Error('enough'))
  })

  it.each([
    ['SPDY/3.1', 'POST', [['x-stream-protocol-version', 'v4.channel.k8s.io']]],
    [
      'websocket',
      'GET',
      [
        ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
        ['sec-websocket-version', '13'],
        ['sec-websocket-protocol', 'v5.channel.k8s.io'],
      ],
    ],
  ] as const)('takes the refusal of an upgrade to %s as an answer', async (protocol, method, more) => {
    const answer = await upstream.upgrade(
      upstreamRequest({
        method,
        target: '/api/v1/namespaces/demo/pods/none/exec?command=id&stdout=1',
        headers: [['connection', 'Upgrade'], ['upgrade', protocol], ...more, ...authorization],
      }),
    )
    if ('stream' in answer) throw new Error('upgraded')
    expect(answer.status).toBe(404)
    expect(await json(streamOf(answer.body))).toMatchObject({ kind: 'Status', reason: 'NotFound' })
  })

  it('upgrades, and the bytes are those of the new protocol', async () => {
    const answer = await upstream.upgrade(
      upstreamRequest({
        target: '/api/v1/namespaces?watch=1',
        headers: [
          ['connection', 'Upgrade'],
          ['upgrade', 'websocket'],
          ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
          ['sec-websocket-version', '13'],
          ['origin', 'https://client.example'],
          ...authorization,
        ],
      }),
    )
    if (!('stream' in answer)) throw new Error(`no upgrade but ${answer.status}`)
    expect(answer.headers).toContainEqual(['sec-websocket-accept', 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='])
    const [frame] = (await once(answer.stream, 'data')) as [Buffer]
    expect(frame[0]).toBe(0x81)
    answer.stream.destroy()
  })

  describe('that is not the one that was pinned', () => {
    it('is not believed', async () => {
      const other = new PooledUpstream({ ...options, registry: new Registry(), serverName: 'elsewhere.example' })
      const error = await other.request(upstreamRequest()).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(UpstreamError)
      expect((error as UpstreamError).message).toContain('expected is one for elsewhere.example')
    })
  })

  it('breaks a watch when the API server dies, and works again when it is back', async () => {
    const watch = await ask('/api/v1/namespaces?watch=1')
    const failed = text(streamOf(watch.body))
    const rejected = expect(failed).rejects.toMatchObject({ name: 'UpstreamError', kind: 'broken' })
    await plane.killApiServer()
    await rejected
    // Of a connection that has not heard yet, a request learns that it broke.
    await vi.waitFor(
      () => expect(ask('/readyz')).rejects.toMatchObject({ name: 'UpstreamError', kind: 'unreachable' }),
      { timeout: 30_000 },
    )
    await plane.startApiServer()
    expect((await ask('/readyz')).status).toBe(200)
  })
})

async function optionsFor(plane: ControlPlane): Promise<PooledUpstreamOptions> {
  const { hostname, port } = new URL(plane.server)
  const ca = readCertificates(await readFile(plane.caFile), 'the CA')
  const nodePair = await issueNodePair(plane.directory)
  return {
    open: async () => {
      const socket = connect(Number(port), hostname)
      socket.setNoDelay(true)
      await once(socket, 'connect')
      return socket
    },
    serverName: hostname,
    trust: () => ca,
    clock: systemClock,
    nodePair: () => nodePair,
    rttMs: () => 1,
    logger: pino({ level: 'silent' }),
    net: loudNet(),
    registry: new Registry(),
  }
}

async function issueNodePair(cwd: string): Promise<{ certificatePem: string; keyPem: string }> {
  const openssl = async (command: string): Promise<void> => {
    await run('openssl', command.split(' '), { cwd })
  }
  await writeFile(join(cwd, 'node.ext'), 'keyUsage=digitalSignature\nextendedKeyUsage=clientAuth')
  await openssl('ecparam -name prime256v1 -genkey -noout -out node.key')
  await openssl('req -new -key node.key -subj /O=system:nodes/CN=system:node:edge-1 -out node.csr')
  const signing = '-CA ca.crt -CAkey ca.key -CAcreateserial -days 2'
  await openssl(`x509 -req -in node.csr ${signing} -extfile node.ext -out node.crt`)
  const read = async (name: string): Promise<string> => await readFile(join(cwd, name), 'utf8')
  return { certificatePem: await read('node.crt'), keyPem: await read('node.key') }
}
