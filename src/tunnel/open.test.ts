/** Both ends of the prelude together: `outgoing.ts` and `incoming.ts`. */
import { describe, expect, it } from 'vitest'
import { collectText, drive, settled } from '../../test/worlds/yamux-drivers.ts'
import { duplexPair } from '../../test/worlds/yamux-duplex-pair.ts'
import { memoryCarriers } from '../../test/worlds/yamux-wire-carrier.ts'
import { type IncomingOpen, OPEN_HEADER_TIMEOUT_MS, receiveOpen } from './incoming.ts'
import { DEFAULT_OPEN_DEADLINE_MS, openTarget } from './outgoing.ts'
import { encodeAnswer } from './prelude/answer.ts'
import { relay } from './relay.ts'
import type { SessionLimits } from './yamux/limits.ts'

function connect(onOpen: (open: IncomingOpen) => void, limits?: Partial<SessionLimits>) {
  const [near, far] = memoryCarriers()
  const pair = drive(near, far, {
    serve: (stream, clock) => receiveOpen(stream, clock, onOpen),
    ...(limits && { limits }),
  })
  return { ...pair, open: (target: string) => openTarget(pair.client.driver, { target }, pair.clock) }
}

describe('opening a target', () => {
  it('brings the header over, then the bytes that followed it at once', async () => {
    const opens: IncomingOpen[] = []
    const { client, clock } = connect((open) => void opens.push(open))
    const header = { target: 'kube-apiserver', source: 'system:node:a', deadlineMs: 5_000, traceId: 'ab'.repeat(16) }
    const { stream, answered } = openTarget(client.driver, header, clock)
    stream.end('early data')
    await settled()
    expect(opens[0]?.header).toEqual(header)
    const accepted = opens[0]!.accept()
    expect(await collectText(accepted)).toBe('early data')
    accepted.end('reply')
    expect(await answered).toEqual({ code: 'ok', text: '', features: 0 })
    expect(await collectText(stream)).toBe('reply')
  })

  it('agrees on features, and only on those the opener named', async () => {
    const { client, clock } = connect((open) => {
      expect(() => open.accept(4)).toThrow('features 0x4 were not offered by the opener')
      open.accept(2)
    })
    const { answered } = openTarget(client.driver, { target: 'a', features: 3 }, clock)
    expect(await answered).toMatchObject({ code: 'ok', features: 2 })
  })

  it('shows no byte of the far end before its answer, even in one write', async () => {
    const events: string[] = []
    const { client, server, clock } = connect(() => {})
    const { stream, answered } = openTarget(client.driver, { target: 'a' }, clock)
    stream.on('data', (data: Buffer) => events.push(`data ${data.toString()}`))
    const told = answered.then(() => events.push('answer'))
    await settled()
    for (const byte of encodeAnswer({ code: 'ok', text: 'hi', features: 0 })) {
      expect(events).toEqual([])
      server.incoming[0]!.write(Buffer.from([byte]))
      await settled()
    }
    server.incoming[0]!.write('x')
    await told
    await settled()
    expect(events).toEqual(['answer', 'data x'])
  })

  it('may be joined with sockets at both ends before anything was said', async () => {
    const [nearOuter, nearInner] = duplexPair()
    const [farOuter, farInner] = duplexPair()
    const { open } = connect((incoming) => void relay(incoming.accept(), farInner))
    void relay(open('a').stream, nearInner)
    nearOuter.end('question')
    expect(await collectText(farOuter)).toBe('question')
    farOuter.end('answer')
    expect(await collectText(nearOuter)).toBe('answer')
  })

  it('carries a refusal with its code and text, and nothing that follows it', async () => {
    const { open, client, server } = connect((incoming) => incoming.refuse('denied', 'target a is not allowed'))
    const { stream, answered } = open('a')
    stream.write(Buffer.alloc(100_000))
    await expect(answered).rejects.toMatchObject({
      name: 'OpenError',
      code: 'denied',
      message: 'target a is not allowed',
    })
    expect(stream.destroyed).toBe(true)
    await settled()
    expect([client.driver.streamCount, server.driver.streamCount]).toEqual([0, 0])
  })

  it('delivers a refusal to an opener that has already ended its direction', async () => {
    const { open, server } = connect((incoming) => incoming.refuse('dns', 'no such host'))
    const { stream, answered } = open('a')
    stream.end('request')
    await expect(answered).rejects.toMatchObject({ code: 'dns' })
    await settled()
    expect(server.driver.streamCount).toBe(0)
  })

  it('can be answered once', async () => {
    const opens: IncomingOpen[] = []
    const { open } = connect((incoming) => void opens.push(incoming))
    open('a')
    await settled()
    opens[0]!.accept()
    expect(() => opens[0]!.refuse('denied', '')).toThrow('stream to a was answered twice')
  })

  it('times out at the deadline, and the far end learns that nobody waits any more', async () => {
    const opens: IncomingOpen[] = []
    let gone = 0
    const { open, clock } = connect((incoming) => {
      opens.push(incoming)
      incoming.onGone(() => gone++)
    })
    const { answered } = open('a')
    const refused = expect(answered).rejects.toMatchObject({
      code: 'timeout',
      message: `no answer from a within ${DEFAULT_OPEN_DEADLINE_MS} ms`,
    })
    await clock.advance(10_000)
    await clock.advance(10_000)
    await clock.advance(10_000)
    await refused
    await settled()
    expect([opens[0]!.isGone, gone]).toEqual([true, 1])
  })

  it('is overloaded when the far end has too many unanswered', async () => {
    const { open } = connect(() => {}, { maxAcceptBacklog: 1 })
    open('a')
    await expect(open('b').answered).rejects.toMatchObject({ code: 'overloaded' })
  })

  it('has no route when the session ends or takes no more', async () => {
    const { open, client, server } = connect(() => {})
    const { answered } = open('a')
    await settled()
    server.driver.close()
    await expect(answered).rejects.toMatchObject({ code: 'no-route' })
    await client.ended
    expect(() => open('b')).toThrow(expect.objectContaining({ code: 'no-route' }))
  })
})

describe('answering streams that are not what they should be', () => {
  it('refuses an unreadable header as invalid', async () => {
    const { client } = connect(() => expect.unreachable())
    const stream = client.driver.open()
    stream.write('GET / HTTP/1.1\r\n\r\n')
    const answer = await new Promise<Buffer>((resolve) => stream.once('data', resolve))
    expect([answer[0], answer[1]]).toEqual([1, 7])
    expect(answer.toString()).toContain('stream begins with version 71; only 1 is spoken here')
  })

  it('gives an opener that says nothing its time, and no more', async () => {
    const { client, server, clock } = connect(() => expect.unreachable())
    const stream = client.driver.open()
    stream.on('error', () => {})
    await settled()
    await clock.advance(OPEN_HEADER_TIMEOUT_MS)
    const answer = await new Promise<Buffer>((resolve) => stream.once('data', resolve))
    expect(answer[1]).toBe(2)
    for (let seconds = 0; seconds < 5; seconds++) await clock.advance(1_000)
    await settled()
    expect(server.driver.streamCount).toBe(0)
  })

  it('takes an unreadable answer as invalid', async () => {
    const { open, server } = connect(() => {})
    const { answered } = open('a')
    await settled()
    server.incoming[0]!.write('220 smtp.example ready')
    await expect(answered).rejects.toMatchObject({ code: 'invalid' })
  })

  it('takes an end without an answer as refused', async () => {
    const { open, server } = connect(() => {})
    const { answered } = open('a')
    await settled()
    server.incoming[0]!.end()
    await expect(answered).rejects.toMatchObject({ code: 'refused' })
  })
})
