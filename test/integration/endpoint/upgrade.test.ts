import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { createServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_UPGRADES_PER_CALLER } from '../../../src/edge/endpoint/caller-limits.ts'
import { UpstreamError } from '../../../src/edge/upstream/upstream.ts'
import { certificatePem } from '../../../src/identity/certificate.ts'
import { answer, type EndpointWorld, keys, startEndpoint, text } from '../../worlds/endpoint-world.ts'

/** Two ends of one real connection that may end by halves. */
async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { connect } = await import('node:net')
  const { port } = server.address() as { port: number }
  const near = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  return [near, far]
}

describe('requests that switch protocols', () => {
  let world: EndpointWorld
  const exec = '/api/v1/namespaces/n/pods/p/exec?command=sh'
  const spdy = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' }

  beforeAll(async () => {
    world = await startEndpoint()
  })

  afterAll(() => world.stop())

  const ask = (options: RequestOptions) => {
    const { port, ca } = { port: world.port(), ca: certificatePem(world.ca.certificate) }
    return httpsRequest({ host: '127.0.0.1', port, ca, agent: new Agent(), method: 'POST', path: exec, ...options })
  }

  /** The client's end and the API server's end of a switched connection. */
  async function switched(options: RequestOptions): Promise<[Duplex, Socket]> {
    const [near, far] = await socketPair()
    far.on('error', () => {})
    world.upstream.handleUpgrade = () =>
      Promise.resolve({
        status: 101,
        headers: [
          ['connection', 'Upgrade'],
          ['upgrade', 'SPDY/3.1'],
          ['x-stream-protocol-version', 'v4.channel.k8s.io'],
        ],
        stream: near,
      })
    const request = ask(options)
    request.end()
    const [response, socket] = (await once(request, 'upgrade')) as [{ headers: Record<string, string> }, Duplex, Buffer]
    expect(response.headers).toEqual({
      connection: 'Upgrade',
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': 'v4.channel.k8s.io',
    })
    socket.on('error', () => {})
    return [socket, far]
  }

  it('pass bytes both ways, and each end by itself', async () => {
    const [client, server] = await switched({ headers: { ...spdy, authorization: 'Bearer t' } })
    const { pool, headers, target, method } = world.upstream.last
    expect([pool, target, method]).toEqual(['open', exec, 'POST'])
    expect(headers).toContainEqual(['connection', 'Upgrade'])
    expect(headers).toContainEqual(['upgrade', 'SPDY/3.1'])
    expect(headers).toContainEqual(['authorization', 'Bearer t'])
    expect(world.endpoint.status.requests.upgrade).toBe(1)
    client.write('up')
    expect(String((await once(server, 'data'))[0])).toBe('up')
    server.write('down')
    expect(String((await once(client, 'data'))[0])).toBe('down')
    client.end('last')
    server.resume()
    await once(server, 'end')
    server.end('after the end')
    expect(String((await once(client, 'data'))[0])).toBe('after the end')
    await once(client, 'close')
    await expect.poll(() => world.endpoint.status.requests.upgrade).toBe(0)
    expect(await world.registry.metrics()).toContain('causeway_edge_endpoint_upgrades_total{protocol="spdy"} 1')
  })

  it('use the certificate of the node where the caller has it', async () => {
    const [client, server] = await switched({ headers: spdy, ...keys(world.nodePair) })
    expect(world.upstream.last.pool).toBe('node')
    const ended = once(server.resume(), 'end')
    client.destroy()
    await ended
    server.destroy()
  })

  it('are limited for each caller, far below what the node may have', async () => {
    const mine = { headers: { ...spdy, authorization: 'Bearer greedy' } }
    const open: [Duplex, Socket][] = []
    while (open.length < MAX_UPGRADES_PER_CALLER) open.push(await switched(mine))
    const request = ask(mine)
    request.end()
    const [refused] = (await once(request, 'response')) as [IncomingMessage]
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1'])
    expect(JSON.parse(await text(refused)).message).toContain('port-forward')
    open.push(await switched({ headers: { ...spdy, authorization: 'Bearer modest' } }))
    for (const [client, server] of open) for (const end of [client, server]) end.destroy()
    await expect.poll(() => world.endpoint.status.requests.upgrade).toBe(0)
  })

  it('are left alone by an endpoint that stops, also on a connection that had requests before', async () => {
    const before = world
    let log = ''
    world = await startEndpoint({ logger: pino({ level: 'info' }, { write: (line: string) => (log += line) }) })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await world.http1({ path: '/x', agent })
    const [client, server] = await switched({ headers: spdy, agent })
    expect(world.endpoint.status.connections).toBe(1)
    const stopped = world.drain()
    await expect.poll(() => world.raw().catch(() => 'closed')).toBe('closed')
    client.write('still here')
    expect(String((await once(server, 'data'))[0])).toBe('still here')
    await expect.poll(() => log).toMatch(/"connections":1,.*waiting for exec, attach and port-forward to end/)
    for (const end of [client, server]) end.destroy()
    await stopped
    world = before
  })

  it('are cut for the client where the API server breaks off', async () => {
    const [client, server] = await switched({ headers: spdy })
    // Unlike `once`, whatever error it closes with.
    const closed = new Promise((resolve) => client.once('close', resolve))
    server.resetAndDestroy()
    await closed
  })

  it('get the answer of an API server that does not switch', async () => {
    world.upstream.handleUpgrade = () =>
      Promise.resolve(
        answer(
          403,
          [
            ['content-type', 'application/json'],
            ['connection', 'close'],
          ],
          'no',
        ),
      )
    const request = ask({ headers: spdy })
    request.end()
    const [response] = await once(request, 'response')
    expect([response.statusCode, String((await once(response, 'data'))[0])]).toEqual([403, 'no'])
  })

  it('get a Status where there is no way up, and where they have a body', async () => {
    world.upstream.handleUpgrade = () => Promise.reject(new UpstreamError('offline', 'the tide is in'))
    const request = ask({ headers: spdy })
    request.end()
    const [response] = await once(request, 'response')
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '1'])
    response.resume()
    const asked = world.upstream.requests.length
    const withBody = ask({ headers: { ...spdy, 'content-length': '4' } })
    withBody.on('error', () => {})
    withBody.end('body')
    const [refused] = await once(withBody, 'response')
    refused.resume()
    expect(refused.statusCode).toBe(400)
    expect(world.upstream.requests.length).toBe(asked)
  })

  it('carry a token as a subprotocol of a WebSocket', async () => {
    world.upstream.handleUpgrade = () => Promise.resolve(answer(401, [], ''))
    const protocol = `v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.${Buffer.from('t').toString('base64url')}`
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': protocol }
    const beside = ask({ headers, method: 'GET', ...keys(world.nodePair) })
    beside.end()
    const [refused] = await once(beside, 'response')
    refused.resume()
    expect(refused.statusCode).toBe(401)
    const alone = ask({ headers, method: 'GET' })
    alone.end()
    await once(alone, 'response')
    expect(world.upstream.last.headers).toContainEqual(['sec-websocket-protocol', protocol])
  })
})
