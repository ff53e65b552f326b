/** Clients whose requests share connections to the API server: what one does to its own, the others must not feel. */
import { once } from 'node:events'
import { constants } from 'node:http2'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ask, bearer } from './endpoint-asking.ts'
import { AttackWorld } from './endpoint-world.ts'

let world: AttackWorld
let neighbour: string
let attacker: string
beforeEach(async () => {
  world = await AttackWorld.start()
  neighbour = await world.readerToken('neighbour')
  attacker = await world.readerToken('attacker')
})
afterEach(() => world.stop())

it('watches that are opened and left, one after the other, beside a neighbour’s watch', async () => {
  const watch = world.http2().request({ ':path': '/api/v1/pods?watch=1', ...bearer(neighbour) })
  await once(watch.resume(), 'response')
  for (let round = 0; round < 3; round += 1) {
    const session = world.http2()
    for (let batch = 0; batch < 15; batch += 1) {
      const left = Array.from({ length: 20 }, async () => {
        const stream = session.request({ ':path': '/api/v1/pods?watch=1', ...bearer(attacker) })
        await once(
          stream.on('error', () => {}),
          'response',
        )
        stream.close(constants.NGHTTP2_CANCEL)
      })
      await Promise.all(left)
    }
    session.destroy()
  }
  await expect.poll(() => world.endpoint.status.requests.long).toBe(1)
  expect((await ask(world.http2(), { ':path': '/api/v1/pods', ...bearer(neighbour) })).status).toBe(200)
  expect(watch.closed).toBe(false)
})

it('more large lists at once than the API server has memory for on one connection', async () => {
  for (let count = 0; count < 10; count += 1) await world.makeLarge(`large-${count}`)
  const session = world.http2()
  const lists = Array.from({ length: 80 }, () =>
    session.request({ ':path': '/api/v1/configmaps', ...bearer(attacker) }),
  )
  for (const list of lists) list.on('error', () => {})
  const calm = world.http2()
  for (let round = 0; round < 20; round += 1) {
    const asked = Array.from({ length: 5 }, () => ask(calm, { ':path': '/api/v1/pods', ...bearer(neighbour) }))
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  }
  session.destroy()
})
