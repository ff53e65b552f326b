/** The filters in an endpoint: by what it tells them they know a caller again, on whichever connection it comes. */
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Answered, answer, type EndpointWorld, keys, startEndpoint } from '../../worlds/endpoint-world.ts'
import { slice } from '../../worlds/filters-objects.ts'
import { jsonEvent as event, FilterWorld } from '../../worlds/filters-world.ts'

const slices = '/apis/discovery.k8s.io/v1/endpointslices'
const services = '/api/v1/services'
const json = [['content-type', 'application/json']] as const
const selector = 'labelSelector=%21service.kubernetes.io%2Fheadless'

describe('an edge that was started again with other filters', () => {
  const before = new FilterWorld().filters.view
  let world: EndpointWorld
  let hubNamespace: string | undefined
  let filters: FilterWorld['filters']

  beforeAll(async () => {
    world = await startEndpoint({ filters: { choose: (request) => filters.choose(request) } })
  })

  beforeEach(() => {
    hubNamespace = undefined
    const settings = { disabled: ['masterservice', 'forwardkubesvctraffic'] }
    filters = new FilterWorld({ settings, before: () => before, tokenNamespace: () => hubNamespace }).filters
    world.upstream.handle = ({ target }) => {
      if (target.endsWith('/tokenreviews')) return answer(201, json, review)
      if (!target.includes('watch=')) return answer(200, json, '{"kind":"List","apiVersion":"v1","items":[]}')
      const events = new PassThrough()
      events.end(event('ADDED', slice('default', 'web', 'web')))
      return answer(200, json, events)
    }
  })

  afterAll(() => world.stop())

  const review = JSON.stringify({
    status: { authenticated: true, user: { username: 'system:serviceaccount:edges:kube-proxy' } },
  })

  function ask(path: string, token: string, userAgent = 'kube-proxy/v1.36'): Promise<Answered> {
    return world.http1({ path, headers: { authorization: `Bearer ${token}`, 'user-agent': userAgent } })
  }

  function typesIn({ body }: Answered): unknown[] {
    return body
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type)
  }

  const list = `${slices}?${selector}&limit=500`
  const watch = `${slices}?${selector}&watch=true&resourceVersion=7&allowWatchBookmarks=true`

  it('tells who resumes to list anew, as an API server would', async () => {
    const { status, headers, body } = await ask(watch, 'resuming')
    expect([status, headers['content-type']]).toEqual([200, 'application/json'])
    expect(JSON.parse(body)).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })
    await ask(list, 'resuming')
    expect(typesIn(await ask(watch, 'resuming'))).toEqual(['ADDED'])
  })

  it('knows a token by itself, before and after the API server has first accepted it', async () => {
    await ask(list, 'fresh')
    expect(typesIn(await ask(watch, 'fresh'))).toEqual(['ADDED'])
    expect(typesIn(await ask(watch, 'of somebody else'))).toEqual(['ERROR'])
  })

  it('knows the node by its certificate, on every connection', async () => {
    const asNode = (path: string) => world.http1({ path, ...keys(world.nodePair) })
    const resumed = `${services}?watch=1&resourceVersion=7`
    expect(typesIn(await asNode(resumed))).toEqual(['ERROR'])
    await asNode(services)
    expect(typesIn(await asNode(resumed))).toEqual(['ADDED'])
  })

  it('knows kube-proxy by its token in whichever namespace the hub keeps the account', async () => {
    expect(typesIn(await ask(watch, 'known', 'anything/1'))).toEqual(['ADDED'])
    hubNamespace = 'edges'
    expect(typesIn(await ask(watch, 'known', 'anything/1'))).toEqual(['ERROR'])
  })
})
