import { PassThrough } from 'node:stream'
import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { OpenError } from '../../tunnel/open-error.ts'
import type { RefusalCode } from '../../tunnel/prelude/answer.ts'
import { DENIAL_MEMORY_MS, MAX_REMEMBERED_DESTINATIONS } from './known-answers.ts'
import { createRouteMetrics } from './metrics.ts'
import { nodeFacts } from './node-facts.ts'
import type { NodeRoute, NodeRoutes, RouteDialOptions } from './node-route.ts'
import type { ProxyStrategy } from './proxy-strategies.ts'
import { MAX_DENIALS_PER_DIAL, MAX_ROUTE_ATTEMPTS, RouteDialer } from './route-dialer.ts'
import { RouteTable } from './route-table.ts'

type FakeRoute = NodeRoute & { readonly dial: ReturnType<typeof vi.fn<NodeRoute['dial']>> }

function route(node: string, answer: 'ok' | RefusalCode = 'ok', more: Partial<NodeRoute> = {}): FakeRoute {
  const dial = vi.fn(async (_options: RouteDialOptions) => {
    if (answer !== 'ok') throw new OpenError(answer, `${node} says ${answer}`)
    return new PassThrough()
  })
  const fixed = { rttMs: undefined, streamCount: 0, description: '', isGoingAway: false }
  return { node, kind: 'session', sinceMs: 0, ...fixed, ...more, dial }
}

function routesOf(all: readonly NodeRoute[]): NodeRoutes {
  return { all, of: (node) => all.findLast((each) => each.node === node && !each.isGoingAway) }
}

function dialerOf(all: readonly NodeRoute[], strategies: readonly ProxyStrategy[] = ['destHost', 'default']) {
  const table = new RouteTable({ strategies })
  for (const [name, address] of [
    ['edge-1', '10.0.0.1'],
    ['edge-2', '10.0.0.2'],
  ] as const)
    table.put(nodeFacts({ metadata: { name }, status: { addresses: [{ type: 'InternalIP', address }] } }))
  const registry = new Registry()
  const clock = new ManualClock()
  const metrics = createRouteMetrics(registry, table)
  const dialer = new RouteDialer({ table, routes: routesOf(all), metrics, clock, random: () => 0 })
  const outcomes = async () => {
    const { values } = await metrics.choices.get()
    return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]))
  }
  return { dialer, clock, table, outcomes, registry }
}

const options = { deadlineMs: 1_000 }
const failsWith = (code: RefusalCode, message: RegExp | string = '') =>
  expect.objectContaining({ name: 'OpenError', code, message: expect.stringMatching(message) as unknown }) as unknown

describe('a destination of a node', () => {
  it('is dialled through that node, in its canonical spelling', async () => {
    const [one, two] = [route('edge-1'), route('edge-2')]
    const { dialer, outcomes } = dialerOf([one, two])
    const { node, stream } = await dialer.dial('::ffff:10.0.0.1', 10250, { ...options, source: 'me' })
    expect([node, stream.destroyed]).toEqual(['edge-1', false])
    expect(one.dial).toHaveBeenCalledWith({ address: '10.0.0.1:10250', deadlineMs: 1_000, source: 'me' })
    expect(two.dial).not.toHaveBeenCalled()
    expect(await outcomes()).toEqual({ node: 1 })
  })

  it('goes nowhere else while that node is away, refuses, or denies', async () => {
    const other = route('edge-2')
    const away = dialerOf([other])
    await expect(away.dialer.dial('10.0.0.1', 1, options)).rejects.toEqual(
      failsWith('no-route', /^node edge-1 is not connected to this hub$/),
    )
    expect(await away.outcomes()).toEqual({ offline: 1 })
    for (const code of ['denied', 'refused', 'timeout', 'dns', 'no-route', 'overloaded'] as const)
      await expect(dialerOf([route('edge-1', code), other]).dialer.dial('edge-1', 1, options)).rejects.toEqual(
        failsWith(code),
      )
    expect(other.dial).not.toHaveBeenCalled()
  })

  it('is tried over another session of the node where the first did not ask, the newest first', async () => {
    const lost = route('edge-1', 'no-route', { sinceMs: 9 })
    const [old, newer] = [route('edge-1', 'ok', { sinceMs: 1 }), route('edge-1', 'overloaded', { sinceMs: 2 })]
    const { dialer } = dialerOf([newer, old, lost])
    await dialer.dial('edge-1', 1, options)
    const order = [lost, newer, old].map((each) => each.dial.mock.invocationCallOrder[0] ?? 0)
    expect(order).toEqual([...order].sort((a, b) => a - b))
    expect(order).not.toContain(0)
  })

  it('is not tried again where the destination itself failed', async () => {
    const [second, first] = [route('edge-1'), route('edge-1', 'refused')]
    await expect(dialerOf([second, first]).dialer.dial('edge-1', 1, options)).rejects.toEqual(failsWith('refused'))
    expect(second.dial).not.toHaveBeenCalled()
  })

  it('is not tried over sessions that are going away, but over an agent that drains where it is alone', async () => {
    const leaving = route('edge-1', 'ok', { isGoingAway: true })
    await expect(dialerOf([leaving]).dialer.dial('edge-1', 1, options)).rejects.toEqual(failsWith('no-route'))
    const draining = route('edge-1', 'ok', { isGoingAway: true, kind: 'konnectivity' })
    await dialerOf([leaving, draining]).dialer.dial('edge-1', 1, options)
    expect(draining.dial).toHaveBeenCalledOnce()
    await dialerOf([draining, route('edge-1')]).dialer.dial('edge-1', 1, options)
    expect(draining.dial).toHaveBeenCalledOnce()
  })

  it('that is connected and not yet registered goes to it by its name', async () => {
    const [fresh, other] = [route('edge-9'), route('edge-2')]
    expect((await dialerOf([other, fresh]).dialer.dial('EDGE-9', 1, options)).node).toBe('edge-9')
  })

  it('that several claim goes nowhere, and is counted', async () => {
    const { dialer, table, outcomes, registry } = dialerOf([route('edge-1'), route('edge-2')])
    table.put(
      nodeFacts({ metadata: { name: 'evil' }, status: { addresses: [{ type: 'Hostname', address: '10.0.0.1' }] } }),
    )
    await expect(dialer.dial('10.0.0.1', 1, options)).rejects.toEqual(failsWith('no-route', /claimed by 2 nodes/))
    expect(await outcomes()).toEqual({ contested: 1 })
    expect(await registry.metrics()).toContain('causeway_hub_contested_addresses 1')
  })

  it('has to be a host', async () => {
    await expect(dialerOf([]).dialer.dial('a/b', 1, options)).rejects.toEqual(
      failsWith('invalid', /"a\/b" is not a host/),
    )
  })
})

describe('a destination of nobody', () => {
  it('goes to another edge where one does not admit it, and there first the next time', async () => {
    const [strict, open] = [route('edge-1', 'denied'), route('edge-2')]
    const { dialer, outcomes } = dialerOf([strict, open])
    expect((await dialer.dial('10.96.0.1', 443, options)).node).toBe('edge-2')
    expect((await dialer.dial('10.96.0.1', 443, options)).node).toBe('edge-2')
    expect(strict.dial).toHaveBeenCalledOnce()
    expect(await outcomes()).toEqual({ default: 2 })
  })

  it('is told to be no Node by name where nobody will have it, and where nobody is there', async () => {
    await expect(dialerOf([route('edge-1', 'denied')]).dialer.dial('edge-9', 10250, options)).rejects.toEqual(
      failsWith('denied', /^edge-1 says denied \(no Node is called edge-9\)$/),
    )
    await expect(dialerOf([]).dialer.dial('edge-9', 10250, options)).rejects.toEqual(
      failsWith('no-route', /^no Node is called edge-9, and no edge that may serve such destinations is connected$/),
    )
    await expect(dialerOf([route('edge-1', 'refused')]).dialer.dial('edge-9', 10250, options)).rejects.toEqual(
      failsWith('refused', /^edge-1 says refused$/),
    )
  })

  it('asks each edge once, and only so many', async () => {
    const all = (code: RefusalCode) => Array.from({ length: 200 }, (_, index) => route(`x-${index % 100}`, code))
    const nodesAsked = (routes: readonly FakeRoute[]) =>
      routes.filter((each) => each.dial.mock.calls.length > 0).map(({ node }) => node)
    for (const [code, limit] of [
      ['denied', MAX_DENIALS_PER_DIAL],
      ['overloaded', MAX_ROUTE_ATTEMPTS],
    ] as const) {
      const routes = all(code)
      await expect(dialerOf(routes).dialer.dial('10.96.0.1', 443, options)).rejects.toEqual(
        failsWith(code, `; ${limit} routes tried\\)`),
      )
      expect([nodesAsked(routes).length, new Set(nodesAsked(routes)).size]).toEqual([limit, limit])
    }
  })

  it('finds the one edge of many that admits it, going on where the last walk has ended', async () => {
    const deniers = Array.from({ length: 2 * MAX_DENIALS_PER_DIAL }, (_, index) => route(`x-${index}`, 'denied'))
    const open = route('open')
    // With what is random here, the second of a pool is drawn last.
    const { dialer } = dialerOf(deniers.toSpliced(1, 0, open))
    await expect(dialer.dial('10.96.0.1', 443, options)).rejects.toEqual(failsWith('denied'))
    expect((await dialer.dial('10.96.0.1', 443, options)).node).toBe('open')
    expect((await dialer.dial('10.96.0.1', 443, options)).node).toBe('open')
    for (const each of deniers) expect(each.dial.mock.calls.length).toBeLessThanOrEqual(1)
  })

  it('is asked for again, last, where it was denied; like everybody when that is long ago', async () => {
    const [strict, lost] = [route('edge-1', 'denied'), route('edge-2', 'overloaded')]
    const { dialer, clock } = dialerOf([strict, lost])
    const order = async () => {
      strict.dial.mockClear()
      lost.dial.mockClear()
      await expect(dialer.dial('10.96.0.1', 443, options)).rejects.toThrow('2 routes tried')
      const [first = 0, second = 0] = [strict, lost].map((each) => each.dial.mock.invocationCallOrder[0])
      return first < second ? 'denier first' : 'denier last'
    }
    expect([await order(), await order()]).toEqual(['denier first', 'denier last'])
    await clock.advance(DENIAL_MEMORY_MS)
    expect(await order()).toBe('denier first')
  })

  it('goes nowhere where every machine means itself by it', async () => {
    const edge = route('edge-1')
    const { dialer, outcomes } = dialerOf([edge])
    for (const host of ['127.0.0.1', '::1', 'localhost', '169.254.169.254'])
      await expect(dialer.dial(host, 10250, options)).rejects.toEqual(
        failsWith('no-route', /means another thing on every machine, and no Node has it as its address/),
      )
    expect(edge.dial).not.toHaveBeenCalled()
    expect(await outcomes()).toEqual({ unowned: 4 })
  })

  it('does not go on after the destination itself has failed', async () => {
    const [first, second] = [route('edge-1', 'refused'), route('edge-2', 'refused')]
    await expect(dialerOf([first, second]).dialer.dial('10.96.0.1', 443, options)).rejects.toEqual(failsWith('refused'))
    expect(first.dial.mock.calls.length + second.dial.mock.calls.length).toBe(1)
  })

  it('goes nowhere without a strategy or an edge for it', async () => {
    const none = dialerOf([route('edge-1')], ['destHost'])
    await expect(none.dialer.dial('10.96.0.1', 443, options)).rejects.toEqual(failsWith('no-route', /no strategy/))
    expect(await none.outcomes()).toEqual({ unowned: 1 })
    const unlabelled = dialerOf([route('edge-1')], ['defaultRoute'])
    await expect(unlabelled.dialer.dial('10.96.0.1', 443, options)).rejects.toEqual(failsWith('no-route', /no edge/))
  })

  it('is remembered for a bounded number of destinations', async () => {
    const [strict, open] = [route('edge-1', 'denied'), route('edge-2')]
    const { dialer } = dialerOf([strict, open])
    for (let port = 1; port <= MAX_REMEMBERED_DESTINATIONS + 1; port++) await dialer.dial('10.96.0.1', port, options)
    const asked = strict.dial.mock.calls.length
    await dialer.dial('10.96.0.1', 2, options)
    expect(strict.dial.mock.calls.length).toBe(asked)
    await dialer.dial('10.96.0.1', 1, options)
    expect(strict.dial.mock.calls.length).toBe(asked + 1)
  })
})

describe('all attempts together', () => {
  it('have one deadline', async () => {
    const slow = route('edge-1', 'ok')
    const last = route('edge-1', 'ok')
    const { dialer, clock } = dialerOf([last, slow])
    slow.dial.mockImplementation(async () => {
      await clock.advance(600)
      throw new OpenError('no-route', 'lost')
    })
    await dialer.dial('edge-1', 1, options)
    expect(last.dial.mock.calls[0]?.[0].deadlineMs).toBe(400)
    last.dial.mockClear()
    await expect(dialer.dial('edge-1', 1, { deadlineMs: 500 })).rejects.toEqual(failsWith('no-route', /^lost$/))
    expect(last.dial).not.toHaveBeenCalled()
  })

  it('end when the caller has gone', async () => {
    const gone = new AbortController()
    const [next, first] = [route('edge-1'), route('edge-1')]
    first.dial.mockImplementation(async () => {
      gone.abort()
      throw new OpenError('no-route', 'lost')
    })
    await expect(dialerOf([next, first]).dialer.dial('edge-1', 1, { ...options, signal: gone.signal })).rejects.toEqual(
      failsWith('no-route'),
    )
    expect(next.dial).not.toHaveBeenCalled()
  })
})
