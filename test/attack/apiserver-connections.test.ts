/** One address that opens connection after connection gets no more than its share of them. */
import { connect as connectTcp } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { afterEach, expect, it } from 'vitest'
import { type OwnApiServer, startOwnApiServer } from '../worlds/own-api-server.ts'

let server: OwnApiServer | undefined
const sockets: TLSSocket[] = []

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await server?.stop()
})

async function dial(localAddress: string): Promise<'open' | 'closed'> {
  const port = Number(new URL((server as OwnApiServer).connection.server).port)
  const socket = connect({ socket: connectTcp({ host: '127.0.0.1', port, localAddress }), rejectUnauthorized: false })
  sockets.push(socket)
  return await new Promise((resolve) => {
    socket.on('error', () => resolve('closed')).once('close', () => resolve('closed'))
    socket.once('secureConnect', () => resolve('open'))
  })
}

it('the API server closes what is above the limit of an address, and lets others in', async () => {
  server = await startOwnApiServer(undefined, { maxConnectionsPerAddress: 3 })
  const own = await Promise.all(Array.from({ length: 5 }, () => dial('127.0.0.2')))
  expect(own.toSorted()).toEqual(['closed', 'closed', 'open', 'open', 'open'])
  expect(await dial('127.0.0.3')).toBe('open')
  sockets.find((socket) => !socket.destroyed && socket.localAddress === '127.0.0.2')?.destroy()
  await expect.poll(() => dial('127.0.0.2')).toBe('open')
})

it('0 is no limit', async () => {
  server = await startOwnApiServer(undefined, { maxConnectionsPerAddress: 0 })
  const own = await Promise.all(Array.from({ length: 10 }, () => dial('127.0.0.2')))
  expect(new Set(own)).toEqual(new Set(['open']))
})
