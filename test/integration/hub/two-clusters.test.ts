/** One hub port, two clusters: the server name in the handshake tells them apart, and nothing crosses over. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EdgeFiles } from '../../../src/edge/identity/edge-files.ts'
import { joinHub } from '../../../src/edge/join/join.ts'
import { TokenAdministration } from '../../../src/hub/cluster/token-administration.ts'
import { Hub } from '../../../src/hub/hub.ts'
import { dialTcp } from '../../../src/kube/client/connector.ts'
import type { RunningPart } from '../../../src/process/lifecycle.ts'
import { USUAL_HUB_NAMESPACE } from '../../../src/protocol/names.ts'
import { systemClock as clock } from '../../../src/runtime/clock.ts'
import { removeFolder } from '../../remove-folder.ts'
import { type OwnApiServer, startOwnApiServer } from '../../worlds/own-api-server.ts'
import { servedCluster } from '../../worlds/served-cluster.ts'

const names = ['north', 'south'] as const
type Name = (typeof names)[number]
const servers = new Map<Name, OwnApiServer>()
let hub: Hub
let running: RunningPart
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'two-clusters-'))
  for (const name of names) servers.set(name, await startOwnApiServer())
  const [north, south] = names.map((name) => {
    const host = `${name}.example.com`
    const changes = { name, serverNames: [host], isDefault: false, addresses: [host] }
    return servedCluster(serverOf(name).client(), changes)
  })
  if (north === undefined || south === undefined) throw new Error('two clusters were wanted')
  hub = new Hub({
    clusters: [north, south],
    clock,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    listen: { host: '127.0.0.1', port: 0 },
    certificateLifeMs: 86_400_000,
    renewalGraceMs: 86_400_000,
  })
  running = await hub.start(new AbortController().signal, (cause) => {
    throw cause
  })
})

afterAll(async () => {
  await running.stop(AbortSignal.abort())
  for (const server of servers.values()) await server.stop()
  removeFolder(folder)
})

function serverOf(name: Name): OwnApiServer {
  const server = servers.get(name)
  if (server === undefined) throw new Error(`${name} was not started`)
  return server
}

const port = (): number => Number(new URL(hub.url).port)

async function mint(name: Name): Promise<string> {
  const client = serverOf(name).client()
  return (await new TokenAdministration({ client, namespace: USUAL_HUB_NAMESPACE, clock }).create({})).text
}

/** As if the DNS knew the names. */
async function join1(host: string, text: string) {
  const files = new EdgeFiles(mkdtempSync(join(folder, 'edge-')))
  return await joinHub({
    files,
    hubs: [`https://${host}:${port()}`],
    node: 'edge-1',
    token: { kind: 'text', text },
    clock,
    random: () => 0.5,
    dial: (target, signal) => dialTcp({ ...target, host: '127.0.0.1' }, signal),
  })
}

function answerTo(servername: string | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: port(),
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
      ...(servername === undefined ? {} : { servername }),
    })
    let text = ''
    socket.on('secureConnect', () => socket.write('GET /ca.crt HTTP/1.1\r\nhost: x\r\n\r\n'))
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

describe('two clusters behind one port', () => {
  it('lets the same node name join each, with its own CA', async () => {
    const [north, south] = [
      await join1('north.example.com', await mint('north')),
      await join1('south.example.com', await mint('south')),
    ]
    expect(north.outcome).toBe('joined')
    expect(south.outcome).toBe('joined')
    expect(north.identity.hubCa[0]?.fingerprint).not.toBe(south.identity.hubCa[0]?.fingerprint)
  })

  it('refuses the token of one at the other: its CA is another', async () => {
    await expect(join1('south.example.com', await mint('north'))).rejects.toMatchObject({ code: 'wrong-hash' })
  })

  it('completes no handshake for a name that is none of theirs', async () => {
    await expect(answerTo('east.example.com')).rejects.toThrow()
  })

  it('tells a client that named none what to do', async () => {
    const answer = await answerTo(undefined)
    expect(answer).toMatch(/^HTTP\/1\.1 421 /)
    expect(answer).toContain('"code":"unknown-cluster"')
    expect(answer).toContain('use the DNS name of yours')
  })
})
