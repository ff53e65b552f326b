import { describe, expect, it } from 'vitest'
import { collectText, type DrivenOptions, drive, settled } from '../../test/worlds/yamux-drivers.ts'
import { memoryCarriers } from '../../test/worlds/yamux-wire-carrier.ts'
import { FAREWELL_MS } from './session-driver.ts'

function connect(options?: DrivenOptions) {
  const [near, far] = memoryCarriers()
  return { ...drive(near, far, options), near, far }
}

describe('SessionDriver', () => {
  it('gathers everything of one turn into one write', async () => {
    const { client, near } = connect()
    await settled()
    const before = near.writes
    for (let count = 0; count < 50; count++) client.driver.open().write(`stream ${count}`)
    await settled()
    expect(near.writes - before).toBe(1)
  })

  it('sends only as fast as the carrier takes it', async () => {
    const { client, near } = connect()
    await settled()
    near.isHeld = true
    const stream = client.driver.open()
    stream.write('one')
    await settled()
    const before = near.writes
    for (let count = 0; count < 10; count++) stream.write(Buffer.alloc(60_000))
    await settled()
    expect(near.writes).toBe(before)
    near.release()
    await settled()
    expect(near.writes).toBeGreaterThan(before)
  })

  it('lets a stalled reader cost its own stream only', async () => {
    const { client, server } = connect()
    const stalled = client.driver.open()
    stalled.write(Buffer.alloc(4 * 1024 * 1024))
    const healthy = client.driver.open()
    healthy.end('through')
    await settled()
    expect(await collectText(server.incoming[1]!)).toBe('through')
    expect(server.driver.bufferedBytes).toBeLessThanOrEqual(256 * 1024)
  })

  it('keeps a quiet session alive with pings and tells the round trip', async () => {
    const { clock, client, server } = connect()
    for (let count = 0; count < 30; count++) {
      await clock.advance(10_000)
      await settled()
    }
    expect([client.driver.error, server.driver.error]).toEqual([undefined, undefined])
    expect(client.driver.rttMs).toBe(0)
  })

  it('notices a link that swallows everything within 30 s, on both sides', async () => {
    const { clock, client, server, near, far } = connect()
    await settled()
    near.isHeld = true
    far.isHeld = true
    await clock.advance(30_000)
    expect(await Promise.all([client.ended, server.ended])).toMatchObject([
      { code: 'keepalive-timeout' },
      { code: 'keepalive-timeout' },
    ])
    await clock.advance(FAREWELL_MS)
    expect(clock.pending).toBe(0)
  })

  it('resets all streams when the carrier is lost, and leaves no timer', async () => {
    const { clock, client, server, near } = connect()
    const stream = client.driver.open()
    const failed = new Promise<Error>((resolve) => stream.once('error', resolve))
    await settled()
    server.incoming[0]?.on('error', () => {})
    near.destroy(new Error('cable pulled'))
    expect(await failed).toMatchObject({ code: 'session-ended' })
    expect(await client.ended).toMatchObject({ code: 'carrier-lost', message: 'the connection was lost: cable pulled' })
    expect(await server.ended).toMatchObject({ code: 'carrier-lost' })
    await settled()
    expect(clock.pending).toBe(0)
  })

  it('drains after go-away and closes the carrier', async () => {
    const { clock, client, server } = connect()
    const stream = client.driver.open()
    await settled()
    server.driver.goAway(60_000)
    await settled()
    expect(client.driver.isGoingAway).toBe(true)
    stream.end('last')
    expect(await collectText(server.incoming[0]!)).toBe('last')
    server.incoming[0]!.end('words')
    expect(await collectText(stream)).toBe('words')
    expect(await server.ended).toMatchObject({ code: 'closed' })
    expect(await client.ended).toMatchObject({ code: 'closed', message: 'the peer has ended the session' })
    await settled()
    expect(clock.pending).toBe(0)
  })

  it('drops a carrier that cannot even send the farewell', async () => {
    const { clock, client, near } = connect()
    await settled()
    near.isHeld = true
    client.driver.close()
    await settled()
    expect(clock.pending).toBe(2)
    await clock.advance(FAREWELL_MS)
    await settled()
    expect(clock.pending).toBe(0)
  })
})
