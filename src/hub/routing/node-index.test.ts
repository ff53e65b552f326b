import { EventEmitter, on } from 'node:events'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Node } from '../../kube/client/types.ts'
import type { WatchEvent } from '../../kube/objects.ts'
import type { ReflectorSource, WatchSource } from '../../kube/reflector/reflector.ts'
import { ApiError } from '../../kube/status/index.ts'
import { ManualClock } from '../../telemetry/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import type { DestinationHost } from './destination.ts'
import { NodeIndex } from './node-index.ts'

const clock = new ManualClock()
const logger = createLogger({ level: 'fatal', format: 'json', clock, destination: { write: () => {} } })

function edge(name: string, address: string, resourceVersion: string): Node {
  const status = { addresses: [{ type: 'InternalIP', address }] }
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name, resourceVersion }, status }
}

class FakeNodes implements ReflectorSource<Node> {
  readonly events = new EventEmitter()
  listed: Promise<Node[]> = Promise.resolve([edge('edge-1', '10.0.0.1', '1')])

  async list() {
    return { metadata: { resourceVersion: '1' }, items: await this.listed }
  }

  async watch(): Promise<WatchSource<Node>> {
    const closed = new AbortController()
    const events = on(this.events, 'event', { signal: closed.signal })
    const iterate = async function* (): AsyncGenerator<WatchEvent<Node>> {
      for await (const [event] of events) yield event as WatchEvent<Node>
    }
    return { [Symbol.asyncIterator]: iterate, close: () => closed.abort() }
  }
}

function indexOf(source: FakeNodes): NodeIndex {
  return new NodeIndex({ source, clock, logger, strategies: ['destHost', 'default'] })
}

const address = (text: string): DestinationHost => ({ kind: 'address', text })

describe('the index of Nodes', () => {
  it('says nothing about any destination before it knows all Nodes', async () => {
    const source = new FakeNodes()
    let answer = (_nodes: Node[]): void => {}
    source.listed = new Promise((resolve) => {
      answer = resolve
    })
    const index = indexOf(source)
    const starting = index.start(new AbortController().signal)
    expect(index.choose(address('10.96.0.1'))).toMatchObject({ kind: 'none', reason: 'unknown' })
    answer([edge('edge-1', '10.0.0.1', '1')])
    const running = await starting
    onTestFinished(() => running.stop(AbortSignal.abort()))
    expect(index.choose(address('10.0.0.1'))).toEqual({ kind: 'node', node: 'edge-1' })
    expect(index.choose(address('10.96.0.1')).kind).toBe('any')
  })

  it('follows them', async () => {
    const source = new FakeNodes()
    const index = indexOf(source)
    const running = await index.start(new AbortController().signal)
    onTestFinished(() => running.stop(AbortSignal.abort()))
    const chosen = (text: string): unknown => index.choose(address(text))
    await vi.waitFor(() => expect(source.events.listenerCount('event')).toBe(1))
    source.events.emit('event', { type: 'ADDED', object: edge('edge-2', '10.0.0.2', '2') })
    await vi.waitFor(() => expect(chosen('10.0.0.2')).toEqual({ kind: 'node', node: 'edge-2' }))
    source.events.emit('event', { type: 'MODIFIED', object: edge('edge-2', '10.0.0.1', '3') })
    await vi.waitFor(() => expect(chosen('10.0.0.1')).toMatchObject({ reason: 'contested' }))
    expect(index.contestedCount).toBe(1)
    source.events.emit('event', { type: 'DELETED', object: edge('edge-1', '10.0.0.1', '4') })
    await vi.waitFor(() => expect(chosen('10.0.0.1')).toEqual({ kind: 'node', node: 'edge-2' }))
    expect([index.node('edge-1'), index.node('edge-2')?.addresses]).toEqual([undefined, ['10.0.0.1']])
  })

  it('does not start where the hub may not know them', async () => {
    const source = new FakeNodes()
    const status = { code: 403, reason: 'Forbidden', message: 'nodes is forbidden' }
    source.listed = Promise.reject(new ApiError(status))
    source.listed.catch(() => {})
    await expect(indexOf(source).start(new AbortController().signal)).rejects.toThrow(
      'cannot watch the Nodes of the cluster: nodes is forbidden; give the hub its rights',
    )
  })

  it('gives up starting when told so', async () => {
    const source = new FakeNodes()
    source.listed = new Promise(() => {})
    source.list = (async (_query: unknown, { signal }: { signal: AbortSignal }) =>
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      })) as FakeNodes['list']
    const given = new AbortController()
    const starting = indexOf(source).start(given.signal)
    given.abort(new Error('stop'))
    await expect(starting).rejects.toThrow('stop')
  })
})
