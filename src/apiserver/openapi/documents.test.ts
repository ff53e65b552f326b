import { describe, expect, it } from 'vitest'
import { ChangingOpenApi } from '../../../test/worlds/changing-sources.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { builtInGroupVersions } from '../discovery/built-in.ts'
import { OpenApiDocuments, type OpenApiRequest } from './documents.ts'
import { groupVersionDocument } from './group-version-document.ts'
import { builtInParts, fixedOpenApi } from './source.ts'

const served = builtInGroupVersions().filter(({ group }) => group === 'coordination.k8s.io')

function setUp() {
  const registry = new ChangingOpenApi(builtInParts(served))
  const documents = new OpenApiDocuments(registry, new ManualClock())
  const get = (path: string, request: OpenApiRequest = {}) => documents.openApiDocument(path, request)
  const root = (): Record<string, { serverRelativeURL: string }> =>
    JSON.parse(get('/openapi/v3')?.body.toString() ?? '{}').paths
  const hashOf = (name: string) => root()[name]?.serverRelativeURL.split('?hash=')[1] ?? ''
  return { registry, documents, get, root, hashOf }
}
const path = '/openapi/v3/apis/coordination.k8s.io/v1'

describe('the root', () => {
  it('leads to every document by its hash', () => {
    const { root, get } = setUp()
    expect(Object.keys(root())).toEqual([
      '.well-known/openid-configuration',
      'api',
      'apis',
      'apis/coordination.k8s.io',
      'apis/coordination.k8s.io/v1',
      'openid/v1/jwks',
      'version',
    ])
    for (const { serverRelativeURL } of Object.values(root())) {
      const [target = '', hash] = serverRelativeURL.split('?hash=')
      expect(hash).toMatch(/^[0-9A-F]{128}$/)
      expect(get(target, { hash })?.status).toBe(200)
    }
  })

  it('follows its source', () => {
    const { registry, root, hashOf } = setUp()
    const before = hashOf('version')
    registry.set({
      name: 'version',
      make: () => groupVersionDocument({ group: 'x.example', version: 'v1', resources: [] }),
    })
    expect(hashOf('version')).not.toBe(before)
    registry.delete('version')
    expect(root()).not.toHaveProperty('version')
  })
})

describe('a document', () => {
  it('may be kept for ever under its hash, and not without', () => {
    const { get, hashOf } = setUp()
    const kept = get(path, { hash: hashOf('apis/coordination.k8s.io/v1') })
    expect(kept?.headers).toMatchObject({ 'cache-control': 'public, immutable', vary: 'Accept' })
    expect(Date.parse(kept?.headers['expires'] ?? '')).toBeGreaterThan(0)
    const plain = get(path)
    expect(plain?.headers).not.toHaveProperty('cache-control')
    expect(plain?.body).toBe(kept?.body)
  })

  it('redirects from an old hash to the present one', () => {
    const { get, hashOf } = setUp()
    expect(get(path, { hash: 'AB' })).toMatchObject({
      status: 301,
      headers: { location: `${path}?hash=${hashOf('apis/coordination.k8s.io/v1')}` },
    })
  })

  it('is not sent again to who has it', () => {
    const { get } = setUp()
    const etag = get(path)?.headers['etag'] ?? ''
    expect(get(path, { ifNoneMatch: `"other", ${etag}` })).toMatchObject({ status: 304, body: Buffer.alloc(0) })
    expect(get(path, { ifNoneMatch: '"other"' })?.status).toBe(200)
  })

  it.each([
    ['application/json', 200],
    ['application/json, */*', 200],
    ['application/*', 200],
    ['application/com.github.proto-openapi.spec.v3@v1.0+protobuf', 406],
    ['application/com.github.proto-openapi.spec.v3@v1.0+protobuf,application/json', 200],
    ['text/html', 406],
  ])('for Accept %s gives %i', (accept, status) => expect(setUp().get(path, { accept })?.status).toBe(status))

  it.each(['/openapi/v3/', '/openapi/v3/apis/none/v1', `${path}/`])('does not exist at %s', (missing) =>
    expect(setUp().get(missing)).toMatchObject({ status: 404, body: Buffer.alloc(0) }),
  )

  it('is nobody else’s business', () => {
    expect(setUp().get('/openapi/v1')).toBeUndefined()
    expect(setUp().get('/openapi/v3x')).toBeUndefined()
  })
})

describe('preparing', () => {
  it('makes every document once, before anybody asks', async () => {
    let made = 0
    const make = () => {
      made++
      return groupVersionDocument({ group: 'x.example', version: 'v1', resources: [] })
    }
    const parts = ['a', 'b', 'c'].map((name) => ({ name, make }))
    const documents = new OpenApiDocuments(fixedOpenApi(parts), new ManualClock())
    await documents.prepare(new AbortController().signal)
    expect(made).toBe(3)
    documents.openApiDocument('/openapi/v3', {})
    expect(made).toBe(3)
  })

  it('stops when told to', async () => {
    const documents = new OpenApiDocuments(
      fixedOpenApi([{ name: 'a', make: () => expect.unreachable() }]),
      new ManualClock(),
    )
    await documents.prepare(AbortSignal.abort())
  })
})

describe('the document of v2', () => {
  const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'

  it('is sent in the form that the client asks for', () => {
    const { get } = setUp()
    const json = get('/openapi/v2', { accept: 'application/json' })
    expect(json?.headers['content-type']).toBe('application/json')
    expect(JSON.parse(json?.body.toString() ?? '')).toMatchObject({ swagger: '2.0' })
    const binary = get('/openapi/v2', { accept: `${protobuf}, application/json` })
    expect(binary?.headers['content-type']).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf')
    expect(get('/openapi/v2', { accept: protobuf, ifNoneMatch: binary?.headers['etag'] ?? '' })?.status).toBe(304)
    expect(get('/openapi/v2', { accept: 'text/html' })?.status).toBe(406)
  })

  it('follows its source', () => {
    const { get, registry } = setUp()
    const before = get('/openapi/v2')?.headers['etag']
    registry.delete('apis/coordination.k8s.io/v1')
    expect(get('/openapi/v2')?.headers['etag']).not.toBe(before)
  })
})
