import { beforeEach, describe, expect, it } from 'vitest'
import { LinkWorld } from '../../../test/worlds/edge-link-world.ts'
import { collectText, settled } from '../../../test/worlds/yamux-drivers.ts'
import { KEEPALIVE_INTERVAL_MS } from '../../tunnel/yamux/limits.ts'
import { HubError } from '../hub/hub-error.ts'
import { HAND_OVER_GRACE_MS, PROOF_OF_LIFE_MS, SESSION_ATTEMPT_LIMIT_MS, STALE_BYTES_MS } from './edge-link.ts'
import { type EdgeLinks, MAX_WAITING_OPENS, OPEN_WAIT_MS, SURROUNDINGS_CHECK_MS } from './edge-links.ts'
import { REFUSED_RETRY_MIN_MS, STABLE_SESSION_MS } from './link-core.ts'

let world: LinkWorld

beforeEach(() => {
  world = new LinkWorld()
})

const target = { target: 'kube-apiserver' }
const unreachable = new Error('connect ECONNREFUSED 192.0.2.1:10000')
const revoked = new HubError('refusal', 'certificate-revoked', 'node a was forgotten', { retryable: false })
const noTime = AbortSignal.abort()
/** The answer to the first ping. */
const pong = Buffer.from([0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0])

async function echo(links: EdgeLinks, text: string): Promise<string> {
  const { stream, answered } = await links.open(target)
  stream.end(text)
  await answered
  return await collectText(stream)
}

describe('links', () => {
  it('hold a session to each hub, and stop without leaving anything', async () => {
    const links = world.links(['hub-a', 'hub-b'])
    const running = await world.started(links)
    expect(links.status.map(({ hub, state, sessions }) => [hub, state, sessions])).toEqual([
      ['https://hub-a', 'up', 1],
      ['https://hub-b', 'up', 1],
    ])
    expect(await world.metric('causeway_edge_links')).toMatchObject({ up: 2, down: 0 })
    expect(await world.metric('causeway_edge_session_rtt_seconds')).toEqual({ '': 0 })
    await running.stop(noTime)
    await settled()
    expect(world.sessions.every(({ ended }) => ended !== undefined)).toBe(true)
    expect(world.clock.pending).toBe(0)
  })

  it('open streams on the nearest hub', async () => {
    const links = world.links(['hub-a', 'hub-b'])
    world.sessions.length = 0
    const running = await world.started(links)
    const used: string[] = []
    world.onOpen = (open, { hub }) => {
      used.push(hub)
      open.accept().end()
    }
    // The far hub answers the next ping late.
    const [far] = world.sessions
    far!.far.isHeld = true
    await world.clock.advance(KEEPALIVE_INTERVAL_MS)
    await world.clock.advance(200)
    far!.far.release()
    await settled()
    await (await links.open(target)).answered
    expect(used).toEqual(['hub-b'])
    world.sessions[1]!.near.destroy()
    await settled()
    await (await links.open(target)).answered
    expect(used).toEqual(['hub-b', 'hub-a'])
    await running.stop(noTime)
  })

  it('say at once since when and why there is no link', async () => {
    world.outcome = unreachable
    world.roll = 0.999
    const links = world.links()
    const running = await world.started(links)
    await world.clock.advance(OPEN_WAIT_MS)
    const pending = world.clock.pending
    await expect(links.open(target)).rejects.toMatchObject({
      code: 'no-route',
      message: 'https://hub-a has no session since 2026-01-01T00:00:00.000Z: connect ECONNREFUSED 192.0.2.1:10000',
    })
    expect(world.clock.pending).toBe(pending)
    expect(await world.metric('causeway_edge_target_opens_total')).toEqual({ 'no-route': 1 })
    await running.stop(noTime)
  })

  it('wait a moment for a link that was just lost', async () => {
    const links = world.links()
    const running = await world.started(links)
    await world.clock.advance(STABLE_SESSION_MS)
    world.roll = 0.9
    world.sessions[0]!.near.destroy(new Error('cable pulled'))
    await settled()
    expect(links.status[0]).toMatchObject({ state: 'down', lastError: 'the connection was lost: cable pulled' })
    const echoed = echo(links, 'hello')
    await world.clock.advance(1_000)
    expect(await echoed).toBe('hello')
    // What is told of the past says when it was.
    const lostAt = new Date(Date.parse('2026-01-01T00:00:00Z') + STABLE_SESSION_MS).toISOString()
    expect(links.status[0]).toMatchObject({ state: 'up', lastErrorAt: lostAt })
    await running.stop(noTime)
  })

  it('wait no longer than that, nor for too many, nor for a client that has gone', async () => {
    world.outcome = 'hang'
    const links = world.links()
    const running = await world.started(links)
    const gone = new AbortController()
    const cancelled = links.open(target, gone.signal)
    gone.abort(new Error('the client has gone'))
    await expect(cancelled).rejects.toThrow('the client has gone')
    const waiting = Array.from({ length: MAX_WAITING_OPENS }, () => links.open(target))
    const results = Promise.allSettled(waiting)
    await expect(links.open(target)).rejects.toMatchObject({ code: 'overloaded' })
    await world.clock.advance(OPEN_WAIT_MS)
    expect((await results).every(({ status }) => status === 'rejected')).toBe(true)
    await running.stop(noTime)
  })

  it('tell whether they are up, and who does not know this node any more', async () => {
    const links = world.links()
    const told: [boolean, string | undefined][] = []
    const unlisten = links.onChange(() => told.push([links.isUp, links.refusal]))
    const running = await world.started(links)
    expect(told).toEqual([[true, undefined]])
    world.outcome = revoked
    world.sessions[0]!.near.destroy()
    await settled()
    await world.clock.advance(1)
    expect(told.slice(1)).toEqual([
      [false, undefined],
      [false, 'node a was forgotten'],
    ])
    // A cable that is pulled then takes the link's own mind off it.
    world.outcome = unreachable
    world.roll = 0.999
    await world.clock.advance(REFUSED_RETRY_MIN_MS)
    expect(told.at(-1)).toEqual([false, undefined])
    unlisten()
    world.outcome = undefined
    await world.clock.advance(REFUSED_RETRY_MIN_MS)
    expect([links.isUp, told.length]).toEqual([true, 4])
    await running.stop(noTime)
  })

  it('take a wrong address or an expired certificate for no refusal of the node', async () => {
    for (const code of ['unknown-cluster', 'certificate-expired']) {
      world = new LinkWorld()
      world.outcome = new HubError('refusal', code, 'no', { retryable: false })
      const links = world.links()
      const running = await world.started(links)
      expect([code, links.refusal, links.health().ok]).toEqual([code, undefined, false])
      await running.stop(noTime)
    }
  })

  it('leave a hub that goes away alone while there is another', async () => {
    const links = world.links(['hub-a', 'hub-b'])
    const running = await world.started(links)
    world.roll = 0.9
    world.sessions[0]!.driver.goAway(1_000_000)
    const kept = world.sessions[0]!.driver.counters.acceptedStreams
    await settled()
    expect(await echo(links, 'x')).toBe('x')
    expect(world.sessions.map(({ driver }) => driver.counters.acceptedStreams)).toEqual([kept, 1])
    await running.stop(noTime)
  })

  it('are not held up by streams of a hub that end with them', async () => {
    const links = world.links()
    const running = await world.started(links)
    world.sessions[0]!.driver.open()
      .on('error', () => {})
      .write('x')
    await settled()
    expect(world.served).toHaveLength(1)
    const deadline = new AbortController()
    const stopped = running.stop(deadline.signal)
    await settled()
    expect(links.status[0]).toMatchObject({ state: 'draining', streams: 1 })
    deadline.abort()
    await stopped
    expect(links.status[0]).toMatchObject({ state: 'draining', sessions: 0 })
  })
})

describe('an attempt', () => {
  it('counts only when the hub has answered, and is given up in time', async () => {
    world.outcome = 'mute'
    const links = world.links()
    const running = await world.started(links)
    expect(links.status[0]).toMatchObject({ state: 'connecting', sessions: 1 })
    await world.clock.advance(SESSION_ATTEMPT_LIMIT_MS)
    expect(world.dials.length).toBeGreaterThan(1)
    expect(links.status[0]?.lastError).toBe('the peer sent nothing for 20 s')
    await running.stop(noTime)
  })

  it('that hangs is given up in time', async () => {
    world.outcome = 'hang'
    const links = world.links()
    const running = await world.started(links)
    world.roll = 0.5
    await world.clock.advance(SESSION_ATTEMPT_LIMIT_MS)
    expect(links.status[0]).toMatchObject({ state: 'down', lastError: 'https://hub-a: no session within 60 s' })
    await running.stop(noTime)
  })

  it('that the hub refuses for good shows in health, and the hub is asked seldom', async () => {
    world.outcome = revoked
    const links = world.links()
    const running = await world.started(links)
    expect(links.health()).toEqual({ ok: false, reason: 'https://hub-a: node a was forgotten' })
    await world.clock.advance(REFUSED_RETRY_MIN_MS - 1)
    expect(world.dials).toHaveLength(1)
    world.outcome = undefined
    await world.clock.advance(1)
    await settled()
    expect(world.dials).toHaveLength(2)
    expect(links.health()).toEqual({ ok: true })
    expect(await world.metric('causeway_edge_session_attempts_total')).toEqual({ refused: 1, ok: 1 })
    await running.stop(noTime)
  })

  it('that the hub ends without a word is explained by asking', async () => {
    const links = world.links(['hub-a'], { askWhy: async () => await Promise.reject(revoked) })
    const running = await links.start()
    await Promise.resolve()
    world.sessions[0]!.far.destroy()
    await settled()
    expect(links.health()).toMatchObject({ ok: false })
    await running.stop(noTime)
  })

  it('that the hub answers and ends in one breath is a failed one', async () => {
    const links = world.links()
    world.roll = 0.999
    const running = await links.start()
    await Promise.resolve()
    const [session] = world.sessions
    session!.far.isHeld = true
    await settled()
    session!.driver.close()
    session!.far.send([pong])
    session!.far.release()
    session!.near.destroy()
    await settled()
    expect(links.status[0]).toMatchObject({ state: 'down', sessions: 0 })
    await running.stop(noTime)
  })

  it('under way at a stop is given up', async () => {
    world.outcome = 'hang'
    const running = await world.started(world.links())
    await running.stop(new AbortController().signal)
    await settled()
    expect(world.clock.pending).toBe(0)
  })
})

describe('a hand-over', () => {
  it('on rotation loses no stream, and is awaited', async () => {
    const links = world.links()
    const running = await world.started(links)
    const { stream, answered } = await links.open(target)
    await answered
    await links.rotated()
    expect(links.status[0]).toMatchObject({ state: 'up', sessions: 2, streams: 1 })
    expect(await echo(links, 'on the new one')).toBe('on the new one')
    expect(world.sessions.map(({ driver }) => driver.counters.acceptedStreams)).toEqual([1, 1])
    await world.clock.advance(HAND_OVER_GRACE_MS)
    await settled()
    expect(world.sessions.map(({ driver }) => driver.isGoingAway)).toEqual([true, false])
    stream.end('still here')
    expect(await collectText(stream)).toBe('still here')
    await settled()
    expect(links.status[0]).toMatchObject({ state: 'up', sessions: 1 })
    await running.stop(noTime)
  })

  it('on rotation is over when the hub cannot be reached: the old session stays', async () => {
    const links = world.links()
    const running = await world.started(links)
    world.outcome = unreachable
    await links.rotated()
    expect(links.status[0]?.sessions).toBe(1)
    await running.stop(noTime)
    await expect(links.rotated()).resolves.toBeUndefined()
  })

  it('is awaited to the end of the attempt that counts, or of the link', async () => {
    world.outcome = 'hang'
    const links = world.links()
    const running = await world.started(links)
    let isOver = false
    const over = (async () => {
      await links.rotated()
      isOver = true
    })()
    await settled()
    expect([world.dials.length, isOver]).toEqual([2, false])
    await running.stop(noTime)
    await over
  })

  it('follows a go-away that came before the first answer', async () => {
    const links = world.links()
    world.roll = 0.5
    const running = await links.start()
    await Promise.resolve()
    world.sessions[0]!.driver.open()
      .on('error', () => {})
      .write('keeps the session')
    world.sessions[0]!.driver.goAway(60_000)
    await settled()
    expect(links.status[0]).toMatchObject({ state: 'handing-over', sessions: 1 })
    await running.stop(noTime)
  })

  it('follows when the hub goes away', async () => {
    const links = world.links()
    const running = await world.started(links)
    await world.clock.advance(STABLE_SESSION_MS)
    const { stream, answered } = await links.open(target)
    await answered
    world.sessions[0]!.driver.goAway(60_000)
    await settled()
    await world.clock.advance(1)
    await settled()
    expect(world.sessions).toHaveLength(2)
    expect(await echo(links, 'new')).toBe('new')
    stream.end('old')
    expect(await collectText(stream)).toBe('old')
    await running.stop(noTime)
  })

  it('follows when our address changes, and loses no stream, not even one opened into the farewell', async () => {
    let address: string | undefined = '10.0.0.1'
    const links = world.links(['hub-a'], { sourceAddress: async () => address })
    const running = await world.started(links)
    const { stream, answered } = await links.open(target)
    await answered
    address = undefined
    await world.clock.advance(SURROUNDINGS_CHECK_MS)
    expect(world.dials).toHaveLength(1)
    address = '10.0.0.2'
    await world.clock.advance(SURROUNDINGS_CHECK_MS)
    await settled()
    expect(world.dials).toHaveLength(2)
    // The hub has not read the farewell of the old session when it opens a stream there.
    const { driver, near } = world.sessions[0]!
    near.isHeld = true
    await world.clock.advance(HAND_OVER_GRACE_MS)
    driver
      .open()
      .on('error', () => {})
      .write('late')
    await settled()
    near.release()
    await settled()
    expect(driver.isGoingAway).toBe(true)
    expect(world.served.map(({ destroyed }) => destroyed)).toEqual([false])
    stream.end('still here')
    expect(await collectText(stream)).toBe('still here')
    await running.stop(noTime)
  })
})

describe('a machine that slept', () => {
  const sleep = async (): Promise<void> => {
    world.clock.jumpTo(world.clock.nowMs() + 3_600_000)
    await world.clock.advance(SURROUNDINGS_CHECK_MS)
  }

  it('keeps a session that lives', async () => {
    const links = world.links()
    const running = await world.started(links)
    await sleep()
    await world.clock.advance(STALE_BYTES_MS + PROOF_OF_LIFE_MS)
    expect(world.dials).toHaveLength(1)
    await running.stop(noTime)
  })

  it('replaces one that is silent before its time is over', async () => {
    const links = world.links()
    const running = await world.started(links)
    world.sessions[0]!.far.isHeld = true
    world.sessions[0]!.near.isHeld = true
    await sleep()
    await world.clock.advance(STALE_BYTES_MS + PROOF_OF_LIFE_MS + 1_000)
    await settled()
    expect(world.dials).toHaveLength(2)
    expect(await echo(links, 'awake')).toBe('awake')
    await running.stop(noTime)
  })

  it('does not wait for its next attempt', async () => {
    world.outcome = revoked
    const links = world.links()
    const running = await world.started(links)
    world.outcome = undefined
    await sleep()
    await settled()
    expect(links.status[0]?.state).toBe('up')
    await running.stop(noTime)
  })
})
