import { once } from 'node:events'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { beforeEach, describe, expect, it } from 'vitest'
import { makeCa } from '../../../test/worlds/fake-cluster.ts'
import {
  CONNECT_EDGE,
  ESTABLISHED,
  eventually,
  type FarEnd,
  FrontTestClient,
  type FrontWorld,
  startFarEnd,
  startFront,
} from '../../../test/worlds/front-world.ts'
import { type Credential, credentialFor, serverIdentity } from '../../../test/worlds/hub-world.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import type { CertificateAuthority } from '../../identity/issue.ts'
import { ManualClock } from '../../runtime/clock.ts'
import type { ServerIdentity } from '../port/connection.ts'

const clock = new ManualClock(Date.now())
let ca: CertificateAuthority
let identity: ServerIdentity
let trust: CertificateAuthority[]

beforeEach(async () => {
  ca = await makeCa(clock)
  identity = await serverIdentity(ca, clock)
  trust = [ca]
})

interface TlsFrontWorld extends FrontWorld {
  readonly far: FarEnd
  dialledCount(): number
}

async function world(allowedNames: readonly string[] = [], greeting?: string): Promise<TlsFrontWorld> {
  const far = await startFarEnd(greeting)
  let dialled = 0
  const tls = { identity: () => identity, trust: () => trust.map(({ certificate }) => certificate), allowedNames }
  const front = await startFront({
    address: { kind: 'tcp', listen: { host: '127.0.0.1', port: 0 }, tls },
    dial: async () => {
      dialled += 1
      return { node: 'edge-1', stream: await far.connect() }
    },
  })
  return { ...front, far, dialledCount: () => dialled }
}

async function kas(commonName = 'kas', by = ca, more = {}): Promise<Credential> {
  return await credentialFor(by, { clock, subject: userName(commonName), ...more })
}

async function dial(front: FrontWorld, options: ConnectionOptions = {}): Promise<FrontTestClient & { tls: TLSSocket }> {
  const { port } = front.listener.boundAddress
  const ours = { port, host: '127.0.0.1', ca: certificatePem(ca.certificate), servername: 'hub.example' }
  const tls = connect({ ...ours, allowHalfOpen: true, ...options } as ConnectionOptions)
  await once(tls, 'secureConnect')
  return Object.assign(new FrontTestClient(tls), { tls })
}

describe('a client with a certificate of the CA', () => {
  it('is served, half-close included, and named in the log', async () => {
    const front = await world()
    const client = await dial(front, await kas())
    client.socket.write(CONNECT_EDGE)
    await eventually(() => expect(client.received).toBe(ESTABLISHED))
    client.socket.end('bye')
    const server = await front.far.accepted()
    server.resume()
    await once(server, 'end')
    server.end('bye too')
    await eventually(() => expect([client.received, client.hasEnded]).toEqual([`${ESTABLISHED}bye too`, true]))
    expect(JSON.stringify(front.log)).toContain('CN=kas from 127.0.0.1:')
    await eventually(async () => expect(await front.count('causeway_hub_front_connections')).toBe(0))
  })

  it('reads the 200 alone, without a wait, although the far end has spoken by then', async () => {
    const front = await world([], '220 ready\r\n')
    const client = await dial(front, await kas())
    client.socket.pause()
    client.socket.write(CONNECT_EDGE)
    await front.far.accepted()
    // The 200 and both words are under way, or there, before the first is read.
    await eventually(() => expect(front.log).toContainEqual(expect.objectContaining({ node: 'edge-1' })))
    expect(front.clock.pending).toBe(0)
    client.socket.resume()
    await eventually(() => expect(client.reads).toEqual([ESTABLISHED, '220 ready\r\n']))
  })

  it('needs one of the names, where there are any', async () => {
    const front = await world(['kas', 'other'])
    const client = await dial(front, await kas('other'))
    client.socket.write(CONNECT_EDGE)
    await eventually(() => expect(client.received).toBe(ESTABLISHED))
    const stranger = await dial(front, await kas('somebody'))
    await eventually(() =>
      expect(stranger.received).toContain('403 denied: the certificate CN=somebody is not of a client'),
    )
  })

  it('meets the new certificate and the new CA as soon as they are there', async () => {
    const front = await world()
    const other = await makeCa(clock, 'next-ca')
    const next = await kas('kas', other)
    identity = await serverIdentity(ca, clock)
    const before = await dial(front, next)
    await eventually(() => expect(before.received).toContain('403 denied'))
    trust = [ca, other]
    identity = await serverIdentity(other, clock)
    const client = await dial(front, { ...next, ca: certificatePem(other.certificate) })
    client.socket.write(CONNECT_EDGE)
    await eventually(() => expect(client.received).toBe(ESTABLISHED))
  })
})

describe('a client', () => {
  it.each<[string, RegExp, () => Promise<ConnectionOptions>]>([
    ['without a certificate', /needs a client certificate/, async () => ({})],
    ['with one of another CA of the same name', /403 denied: /, async () => await kas('kas', await makeCa(clock))],
    ['with one for servers', /clientAuth/, async () => await kas('kas', ca, { extendedKeyUsages: ['serverAuth'] })],
    [
      'with one that has ended',
      /403 denied: .*(expired|ended|valid)/,
      async () => await kas('kas', ca, { notBeforeMs: clock.nowMs() - 9e6, notAfterMs: clock.nowMs() - 8e6 }),
    ],
  ])('%s is told so and dials nothing', async (_what, message, options) => {
    const front = await world()
    const client = await dial(front, await options())
    client.socket.write(CONNECT_EDGE)
    await eventually(() => expect(client.received).toMatch(message))
    expect(client.received).not.toContain('200 ')
    expect(front.dialledCount()).toBe(0)
    expect(await front.count('causeway_hub_front_rejected_total', { reason: 'certificate' })).toBe(1)
  })

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('cannot resume what another proved (%s)', async (version) => {
    const front = await world()
    const options = { minVersion: version, maxVersion: version }
    const first = await dial(front, { ...(await kas()), ...options })
    first.socket.write(CONNECT_EDGE)
    await eventually(() => expect(first.received).toBe(ESTABLISHED))
    const session = first.tls.getSession()
    const thief = await dial(front, { ...options, ...(session === undefined ? {} : { session }) })
    expect(thief.tls.isSessionReused()).toBe(false)
    await eventually(() => expect(thief.received).toContain('needs a client certificate'))
  })
})
