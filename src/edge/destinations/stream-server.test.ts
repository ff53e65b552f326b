import { createServer, type Server, type Socket } from 'node:net'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { collectText, type DrivenPair, drive, settled } from '../../../test/worlds/yamux-drivers.ts'
import { memoryCarriers } from '../../../test/worlds/yamux-wire-carrier.ts'
import { listen } from '../../network/listen.ts'
import { systemNetwork } from '../../network/tcp.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { type OutgoingOpen, openTarget } from '../../tunnel/outgoing.ts'
import { DestinationDialer } from './destination-dialer.ts'
import { createDestinationMetrics } from './destination-metrics.ts'
import { DestinationPolicy } from './destination-policy.ts'
import { parseDestinationRules } from './destination-rule.ts'
import { createDestinations } from './destinations.ts'
import { DENIAL_LOG_INTERVAL_MS, StreamServer, type StreamServerOptions } from './stream-server.ts'

let server: Server
let port: number
let sockets: Socket[]
let pair: DrivenPair
let streams: StreamServer
let lines: Record<string, unknown>[]
let registry: Registry

beforeEach(async () => {
  sockets = []
  lines = []
  server = createServer({ allowHalfOpen: true }, (socket) => void sockets.push(socket.on('error', () => {})))
  port = (await listen(server, { host: '127.0.0.1', port: 0 })).port
  begin()
})

afterEach(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

/** A hub, which opens, and an edge that serves. */
function begin(options: Partial<StreamServerOptions> = {}): void {
  const [near, far] = memoryCarriers()
  pair = drive(near, far, { serve: (stream) => streams.serve(stream) })
  const { clock } = pair
  registry = new Registry()
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) }
  streams = new StreamServer({
    policy: new DestinationPolicy({
      node: 'edge-1',
      rules: parseDestinationRules([`127.0.0.1:${port}`, '127.0.0.1:1']),
      ownAddresses: () => [],
    }),
    dialer: new DestinationDialer(systemNetwork, clock),
    clock,
    logger: createLogger({ level: 'info', format: 'json', destination, clock }),
    metrics: createDestinationMetrics(registry),
    ...options,
  })
}

function open(target: string): OutgoingOpen {
  return openTarget(pair.client.driver, { target, source: 'kube-apiserver' }, pair.clock)
}

async function opens(): Promise<Record<string, number>> {
  const { values } = (await registry.getSingleMetric('causeway_edge_destination_opens_total')?.get()) ?? { values: [] }
  return Object.fromEntries(values.map(({ labels, value }) => [Object.values(labels).join(' '), value]))
}

describe('streams of a hub', () => {
  it('are joined with what is allowed, each half by itself', async () => {
    const { stream, answered } = open(`127.0.0.1:${port}`)
    stream.end('question')
    await answered
    // Our end of a connection may be there before its other end is accepted.
    await expect.poll(() => sockets).toHaveLength(1)
    const [socket] = sockets
    expect(await collectText(socket!)).toBe('question')
    socket!.end('answer')
    expect(await collectText(stream)).toBe('answer')
    await expect.poll(() => streams.streamCount).toBe(0)
    expect(await opens()).toEqual({ 'address ok': 1 })
  })

  it('are told why they were not', async () => {
    await expect(open('127.0.0.1:1').answered).rejects.toMatchObject({
      code: 'refused',
      message: '127.0.0.1 port 1: ECONNREFUSED',
    })
    await expect(open('10.0.0.1:22').answered).rejects.toMatchObject({
      code: 'denied',
      message: 'node edge-1 does not let 10.0.0.1:22 be reached; it allows destinations by --allow-destination',
    })
    expect(await opens()).toEqual({ 'address refused': 1, 'none denied': 1 })
  })

  it('that are denied fill no log', async () => {
    for (let count = 0; count < 5; count++) await expect(open('10.0.0.1:22').answered).rejects.toThrow('does not let')
    await pair.clock.advance(DENIAL_LOG_INTERVAL_MS)
    await expect(open('10.0.0.1:22').answered).rejects.toThrow('does not let')
    expect(lines.map(({ msg, andOthers }) => [msg, andOthers])).toEqual([
      ['destination denied', 0],
      ['destination denied', 4],
    ])
  })

  it('are not more than the limits', async () => {
    begin({ maxStreams: 2, reservedStreams: 1 })
    const first = open(`127.0.0.1:${port}`)
    await first.answered
    await expect(open(`127.0.0.1:${port}`).answered).rejects.toMatchObject({ code: 'overloaded' })
    first.stream.destroy()
    await expect.poll(() => streams.streamCount).toBe(0)
    await open(`127.0.0.1:${port}`).answered
  })

  it('to the kubelet have room that nobody else takes', async () => {
    const asked: string[] = []
    const hanging = {
      ...systemNetwork,
      connect: (ip: string, askedPort: number) => {
        asked.push(`${ip}:${askedPort}`)
        return new Promise<Socket>(() => {})
      },
    }
    for (const limits of [
      { maxDials: 2, reservedDials: 1 },
      { maxStreams: 2, reservedStreams: 1 },
    ]) {
      begin()
      begin({ dialer: new DestinationDialer(hanging, pair.clock), ...limits })
      asked.length = 0
      open(`127.0.0.1:${port}`)
      await settled()
      await expect(open(`127.0.0.1:${port}`).answered).rejects.toMatchObject({ code: 'overloaded' })
      open('edge-1:10250')
      await settled()
      expect(asked).toEqual([`127.0.0.1:${port}`, '127.0.0.1:10250'])
      await expect(open('edge-1:10250').answered).rejects.toMatchObject({ code: 'overloaded' })
    }
  })

  it('whose opener has gone leave nothing behind', async () => {
    const signals: AbortSignal[] = []
    const hanging = { ...systemNetwork, connect: hang }
    function hang(_ip: string, _port: number, signal: AbortSignal): Promise<Socket> {
      signals.push(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    }
    begin()
    begin({ dialer: new DestinationDialer(hanging, pair.clock), maxDials: 2, reservedDials: 1 })
    const { stream } = open(`127.0.0.1:${port}`)
    await settled()
    await expect(open(`127.0.0.1:${port}`).answered).rejects.toMatchObject({ code: 'overloaded' })
    stream.destroy()
    await settled()
    expect(signals[0]?.aborted).toBe(true)
    expect(streams.streamCount).toBe(0)
  })

  it('are served by what the edge is made of', async () => {
    begin()
    const { clock } = pair
    const rules = parseDestinationRules([`localhost:${port}`])
    const logger = createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock })
    streams = createDestinations({ node: 'edge-1', rules, clock, logger, registry: new Registry() })
    await open(`localhost:${port}`).answered
    expect(streams.streamCount).toBe(1)
  })
})
