/** Watches that are resumed: who was given another view than the present one is told to list anew, and nobody else. */

import { buffer } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import type { FilterSettings } from '../../../src/edge/filters/filter-settings.ts'
import { formats } from '../../contract/walker/formats.ts'
import { sourceOf, streamOf } from '../../worlds/byte-sources.ts'
import { kubernetes } from '../../worlds/filters-objects.ts'
import { arriving, jsonEvent as event, FilterWorld } from '../../worlds/filters-world.ts'

const services = '/api/v1/services'
const configMaps = '/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx'
const resumed = `${services}?watch=1&resourceVersion=200`
const streamed = `${services}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`
const json = 'application/json'
const off: FilterSettings = { disabled: ['masterservice'] }
const on: FilterSettings = { disabled: [] }
const expired = 'causeway_edge_filter_watches_expired_total'

function list(world: FilterWorld, path = services, user = 'node', status = 200) {
  const document = JSON.stringify({ kind: 'ServiceList', apiVersion: 'v1', metadata: {}, items: [kubernetes] })
  return world.answer(path, user, [Buffer.from(document)], { status })
}

/** Whether the watch ends with 410 before anything else; if not, it works. */
async function isExpired(world: FilterWorld, path = resumed, user = 'node'): Promise<boolean> {
  const { upstream, filtered } = await world.watch(path, user, json)
  upstream.end(event('MODIFIED', kubernetes))
  const lines = (await buffer(filtered.body)).toString().trimEnd().split('\n')
  expect(lines).toHaveLength(1)
  const { type, object } = JSON.parse(lines[0] ?? '') as { type: string; object: Record<string, unknown> }
  if (type === 'MODIFIED') return false
  expect({ type, object }).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })
  return true
}

/** The edge of before, stopped and started again. */
function restarted(world: FilterWorld, settings = on): FilterWorld {
  const before = world.filters.view
  return new FilterWorld({ settings, before: () => before })
}

describe('a watch resumed after a restart', () => {
  it.each([
    ['JSON', json, formats[0]],
    ['protobuf', 'application/vnd.kubernetes.protobuf;stream=watch', formats[1]],
  ])('with another view ends at once with 410 Expired in %s', async (_name, contentType, format) => {
    const world = restarted(new FilterWorld(), off)
    const { upstream, filtered } = await world.watch(resumed, 'node', contentType)
    const bytes = await buffer(filtered.body)
    const { type, object } = format?.walker.readEvent(contentType === json ? bytes : bytes.subarray(4)) ?? {}
    expect([filtered.status, type]).toEqual([200, 'ERROR'])
    expect(format?.decode(object ?? bytes)).toMatchObject({ kind: 'Status', code: 410, reason: 'Expired' })
    expect(upstream.destroyed).toBe(true)
    expect(await world.counted(expired)).toBe(1)
    expect(await world.counted('causeway_edge_filter_watches')).toBe(0)
  })

  it('goes on after the new list', async () => {
    const world = restarted(new FilterWorld(), off)
    expect(await isExpired(world)).toBe(true)
    await list(world)
    expect(await isExpired(world)).toBe(false)
    expect(await isExpired(world)).toBe(false)
    expect(await world.counted(expired)).toBe(1)
  })

  it.each([
    ['with a filter off that was on', on, off],
    ['with a filter on that was off', off, on],
  ])('ends %s', async (_what, first, second) => {
    expect(await isExpired(restarted(new FilterWorld({ settings: first }), second))).toBe(true)
  })

  it('ends where the endpoint has moved, and only for those who see it', async () => {
    const moved = restarted(new FilterWorld())
    moved.endpoint = { address: '10.0.0.9', port: 10_550 }
    expect(await isExpired(moved)).toBe(true)
    const unseen = restarted(new FilterWorld({ settings: off }), off)
    unseen.endpoint = { address: '10.0.0.9', port: 10_550 }
    expect(await isExpired(unseen)).toBe(false)
  })

  it('goes on with the same view, and where only others see another', async () => {
    expect(await isExpired(restarted(new FilterWorld()))).toBe(false)
    expect(await isExpired(restarted(new FilterWorld({ settings: off }), off))).toBe(false)
    expect(await isExpired(restarted(new FilterWorld(), { disabled: ['serviceenv'] }))).toBe(false)
  })

  it('goes on where there was no run before, and ends where its view is lost', async () => {
    expect(await isExpired(new FilterWorld())).toBe(false)
    expect(await isExpired(new FilterWorld({ before: () => 'unreadable' }))).toBe(true)
  })

  it('never troubles a client that lists first', async () => {
    for (const settings of [on, off]) {
      const world = restarted(new FilterWorld({ settings: settings === on ? off : on }), settings)
      await list(world)
      expect(await isExpired(world)).toBe(false)
      await list(world, configMaps)
      expect(await isExpired(world, `${configMaps}&watch=1&resourceVersion=9`)).toBe(false)
    }
  })

  it('is another one for another caller and another selection', async () => {
    const world = restarted(new FilterWorld(), { disabled: ['masterservice', 'inclusterconfig'] })
    await list(world)
    await list(world, configMaps)
    expect(await isExpired(world, `${resumed}&labelSelector=a`)).toBe(true)
    expect(await isExpired(world, '/api/v1/namespaces/a/services?watch=1&resourceVersion=200')).toBe(true)
    expect(await isExpired(world, '/api/v1/namespaces/a/configmaps?watch=1&resourceVersion=9')).toBe(true)
    expect(await isExpired(world, `${configMaps}&watch=1&resourceVersion=9`)).toBe(false)
    expect(await isExpired(world)).toBe(false)
  })
})

describe('a watch resumed after a change of settings', () => {
  it.each([
    ['on to off', on, off],
    ['off to on', off, on],
  ])('since its list (%s) ends, and goes on after the next list', async (_what, first, second) => {
    const world = new FilterWorld({ settings: first })
    await list(world)
    world.filters.configure(second)
    expect(await isExpired(world)).toBe(true)
    await list(world)
    expect(await isExpired(world)).toBe(false)
  })

  it('that came while its list was on the way ends: the list was made with the settings of before', async () => {
    const world = new FilterWorld()
    const plan = await world.choose(services, 'node')
    const head = { status: 200, contentType: json, contentEncoding: '', acceptEncoding: '' }
    const answering = plan?.begin(head)
    world.filters.configure(off)
    const body = await answering?.run(
      sourceOf(arriving([Buffer.from('{"kind":"ServiceList","apiVersion":"v1","items":[]}')])),
    )
    await buffer(streamOf(body?.body))
    expect(await isExpired(world)).toBe(true)
  })

  it('that was taken back goes on', async () => {
    const world = new FilterWorld()
    await list(world)
    world.filters.configure(off)
    world.filters.configure(on)
    expect(await isExpired(world)).toBe(false)
  })

  it('ends where the settings changed after it had been resumed once', async () => {
    const world = restarted(new FilterWorld())
    expect(await isExpired(world)).toBe(false)
    world.filters.configure(off)
    expect(await isExpired(world)).toBe(true)
  })

  it('ends where the pages of its list came through different views', async () => {
    const world = new FilterWorld()
    await list(world, `${services}?limit=1`)
    world.filters.configure(off)
    await list(world, `${services}?limit=1&continue=x`)
    expect(await isExpired(world)).toBe(true)
    world.filters.configure(on)
    expect(await isExpired(world)).toBe(true)
  })

  it('ends where the new list has failed', async () => {
    const world = restarted(new FilterWorld({ settings: off }), on)
    await list(world, services, 'node', 500)
    expect(await isExpired(world)).toBe(true)
  })
})

describe('a streaming list', () => {
  it('counts as a list, and never ends by what its client had before', async () => {
    const world = restarted(new FilterWorld(), off)
    expect(await isExpired(world, `${streamed}&resourceVersion=200`)).toBe(false)
    expect(await isExpired(world)).toBe(false)
    world.filters.configure(on)
    expect(await isExpired(world)).toBe(true)
    expect(await isExpired(world, streamed)).toBe(false)
    expect(await isExpired(world)).toBe(false)
  })

  it.each(['', '&resourceVersion=0'])('also as a watch from the beginning (%j)', async (version) => {
    const world = restarted(new FilterWorld(), off)
    expect(await isExpired(world, `${services}?watch=1${version}`)).toBe(false)
    expect(await isExpired(world)).toBe(false)
  })

  it('is not a watch that wants no initial events', async () => {
    const world = restarted(new FilterWorld(), off)
    expect(await isExpired(world, `${services}?watch=1&sendInitialEvents=false`)).toBe(false)
    expect(await isExpired(world)).toBe(true)
  })
})

describe('what is remembered', () => {
  const claimedUser = 'system:serviceaccount:a:b'
  const moreComponents = { masterservice: ['test'] }

  it('is bounded: who is forgotten lists once more', async () => {
    const before = new FilterWorld().filters.view
    const world = new FilterWorld({ settings: off, before: () => before, maxViews: 2 })
    await list(world)
    for (const label of ['a', 'b']) await list(world, `${services}?labelSelector=${label}`)
    expect(await isExpired(world)).toBe(true)
    await list(world)
    expect(await isExpired(world)).toBe(false)
  })

  it('of verified callers is not forgotten for those who only say who they are', async () => {
    const before = new FilterWorld().filters.view
    const settings = { ...off, moreComponents }
    const world = new FilterWorld({ settings, before: () => before, maxViews: 1 })
    await list(world)
    for (const label of ['a', 'b', 'c']) await list(world, `${services}?labelSelector=${label}`, claimedUser)
    expect(await isExpired(world)).toBe(false)
    expect(await isExpired(world, `${resumed}&labelSelector=c`, claimedUser)).toBe(false)
    expect(await isExpired(world, `${resumed}&labelSelector=a`, claimedUser)).toBe(true)
  })

  it('is also what could not be read, so that nobody is sent round in a circle', async () => {
    const world = restarted(new FilterWorld({ settings: off }), on)
    const { filtered } = await world.answer(services, 'node', [Buffer.from('a: b')], {
      contentType: 'application/yaml',
    })
    expect(filtered).toBeUndefined()
    expect(await isExpired(world)).toBe(false)
  })
})
