import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../runtime/clock.ts'
import { Http1Exchange } from './http1-exchange.ts'
import { EARLY_ANSWER_LINGER_MS } from './limits.ts'
import { UnsentAnswers } from './unsent-answers.ts'

const atOnce = { add: (job: () => void): void => job() }

const bodyBytes = 4 * 1024 * 1024
const head = `POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: ${bodyBytes}\r\n\r\n`

/** A server that refuses before it has read the body, and a client that has sent the head of its request. */
async function refused(clock: ManualClock): Promise<Socket> {
  const peer = { address: '127.0.0.1', certificates: [] }
  const server = createServer((request, response) => {
    const unsent = new UnsentAnswers({ clock, stalled: () => {} }).open(atOnce, { cut: () => {}, cutStalled: () => 0 })
    const guard = (action: () => unknown): void => void action()
    new Http1Exchange(request, response, { peer, clock, guard, unsent }).respond(401, {}, Buffer.from('not you'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  client.on('data', (bytes) => {
    text += bytes.toString()
  })
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  client.write(head)
  await expect.poll(() => text).toMatch(/^HTTP\/1\.1 401.*connection: close.*not you$/is)
  return client
}

it('lets a client that is refused early send its body to the end', async () => {
  const clock = new ManualClock()
  const client = await refused(clock)
  client.end(Buffer.alloc(bodyBytes))
  // Rejects where the connection was reset.
  await once(client, 'close')
  expect(client.bytesWritten).toBe(head.length + bodyBytes)
  await expect.poll(() => clock.pending).toBe(0)
})

it('waits no longer for it than it must', async () => {
  const clock = new ManualClock()
  const client = await refused(clock)
  const closed = once(client, 'end')
  await clock.advance(EARLY_ANSWER_LINGER_MS)
  await closed
})
