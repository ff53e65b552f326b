/**
 * Discovery and OpenAPI against the documents of a fresh kube-apiserver of the same release: discovery byte for byte,
 * OpenAPI in everything but the descriptions. Then kubectl, on a real API server whose documents are replaced by ours.
 */

import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request, type Server } from 'node:https'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import { builtInGroupVersions, builtInPriority } from '../../src/apiserver/discovery/built-in.ts'
import { DiscoveryDocuments } from '../../src/apiserver/discovery/documents.ts'
import type { DiscoveryResource } from '../../src/apiserver/discovery/source.ts'
import { OpenApiDocuments } from '../../src/apiserver/openapi/documents.ts'
import { builtInParts, fixedOpenApi } from '../../src/apiserver/openapi/source.ts'
import { acceptHeader, type Encoding, MEDIA_TYPES } from '../../src/kube/representation.ts'
import { joinGroupVersion } from '../../src/kube/schema/catalogue.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { ChangingDiscovery } from '../worlds/changing-sources.ts'
import { type ControlPlane, describeReal, kubectl, startControlPlane } from './harness.ts'

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders | Readonly<Record<string, string>>
  readonly body: Buffer
}

/** A Kubernetes-shaped JSON value; the assertions say what is expected of it. */
// biome-ignore lint/suspicious/noExplicitAny: documents of another program, compared and not used
type Json = any

const encodings: readonly Encoding[] = ['json', 'yaml', 'protobuf']
/** Headers of the request's life; the filter chain sets them, not the documents. */
const comparedHeaders = ['content-type', 'cache-control', 'etag', 'vary']

const poll = { timeout: 60_000, interval: 100 }
/** Paths that documents may answer; everything deeper is about objects. */
const documentPath = /^\/(openapi\/.+|api(\/[^/]+)?|apis(\/[^/]+){0,2})$/

describeReal('discovery and OpenAPI', () => {
  let plane: ControlPlane
  let ca: Buffer
  let discovery: DiscoveryDocuments
  let registry: ChangingDiscovery
  const openApi = new OpenApiDocuments(fixedOpenApi(builtInParts(builtInGroupVersions())), systemClock)

  beforeAll(async () => {
    plane = await startControlPlane()
    ca = await readFile(plane.caFile)
    registry = new ChangingDiscovery(builtInGroupVersions())
    discovery = new DiscoveryDocuments({ source: registry, serverAddress: new URL(plane.server).host })
  })

  afterAll(async () => {
    await plane.stop()
  })

  const real = (path: string, headers: Record<string, string> = {}, server = plane.server): Promise<Answer> =>
    fetchBytes(server + path, ca, { authorization: `Bearer ${plane.adminToken}`, 'user-agent': 'test', ...headers })

  const realJson = async (path: string): Promise<Json> => JSON.parse((await real(path)).body.toString())

  function ours(target: string, accept: string, ifNoneMatch?: string): Answer | undefined {
    const { pathname, searchParams } = new URL(target, plane.server)
    const hash = searchParams.get('hash') ?? undefined
    const document = openApi.openApiDocument(pathname, { accept, hash, ifNoneMatch })
    if (document !== undefined) return document
    const pretty = searchParams.get('pretty') ?? undefined
    const output = discovery.negotiate(pathname, { accept, pretty, stream: false })
    return discovery.discoveryDocument(pathname, output, ifNoneMatch)
  }

  async function expectSame(path: string, accept: string, ifNoneMatch = ''): Promise<void> {
    const theirs = await real(path, { accept, 'if-none-match': ifNoneMatch })
    const own = ours(path, accept, ifNoneMatch)
    expect(own?.status, path).toBe(theirs.status)
    const headers = { 'cache-control': 'no-cache, private', ...own?.headers }
    for (const name of comparedHeaders) expect(headers[name as keyof typeof headers], name).toBe(theirs.headers[name])
    if (accept.includes('protobuf')) expect(own?.body.toString('hex')).toBe(theirs.body.toString('hex'))
    else if (accept.includes('yaml')) expect(parse(String(own?.body))).toEqual(parse(theirs.body.toString()))
    else expect(own?.body.toString()).toBe(theirs.body.toString())
  }

  async function discoveryPaths(): Promise<string[]> {
    const { groups } = await realJson('/apis')
    return ['/api', '/api/v1', '/apis'].concat(
      groups.flatMap(({ name, versions }: Json) => [
        `/apis/${name}`,
        ...versions.map(({ groupVersion }: Json) => `/apis/${groupVersion}`),
      ]),
    )
  }

  describe('discovery', () => {
    it('is the same in every encoding, byte for byte in JSON and protobuf', async () => {
      const paths = await discoveryPaths()
      expect(paths.length).toBeGreaterThan(40)
      for (const path of paths) {
        for (const encoding of encodings) await expectSame(path, MEDIA_TYPES[encoding])
        await expectSame(`${path}?pretty=true`, 'application/json')
      }
    })

    it('is the same when aggregated, tags included', async () => {
      for (const path of ['/api', '/apis']) {
        for (const encoding of encodings) {
          const accept = acceptHeader({ as: 'APIGroupDiscoveryList', encoding, version: 'v2' })
          await expectSame(path, accept)
          await expectSame(path, accept, String((await real(path, { accept })).headers['etag']))
        }
      }
    })

    it('gives built-in groups the priorities of their APIServices', async () => {
      const { items } = await realJson('/apis/apiregistration.k8s.io/v1/apiservices')
      const theirs = items.map(({ spec }: Json) => [
        spec.group ?? '',
        spec.version,
        { group: spec.groupPriorityMinimum, version: spec.versionPriority },
      ])
      const served = builtInGroupVersions().filter(({ group }) => group !== 'apiregistration.k8s.io')
      const own = served.map((one) => [one.group, one.version, builtInPriority(one)])
      expect(new Set(own)).toEqual(new Set(theirs))
    })
  })

  describe('OpenAPI', () => {
    it('has the same documents', async () => {
      const own: Json = JSON.parse(String(ours('/openapi/v3', '')?.body))
      expect(Object.keys(own.paths)).toEqual(Object.keys((await realJson('/openapi/v3')).paths))
    })

    it('has the same schemas, paths, operations and parameters', async () => {
      const differences: string[] = []
      let compared = 0
      for (const name of Object.keys((await realJson('/openapi/v3')).paths)) {
        const own: Json = JSON.parse(String(ours(`/openapi/v3/${name}`, '')?.body))
        const theirs = await realJson(`/openapi/v3/${name}`)
        compared += Object.keys(theirs.components.schemas ?? {}).length
        compare(name, comparable(own), comparable(theirs), differences)
      }
      expect(differences).toEqual([])
      expect(compared).toBeGreaterThan(1_000)
    })

    it('is cached, redirected and refused in the same way', async () => {
      const name = '/openapi/v3/apis/apps/v1'
      const address = async (root: Json) => root.paths['apis/apps/v1'].serverRelativeURL as string
      const theirAddress = await address(await realJson('/openapi/v3'))
      const ourAddress = await address(JSON.parse(String(ours('/openapi/v3', '')?.body)))
      const protobuf = 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf'
      const requests: [theirs: string, ours: string, accept: string][] = [
        [name, name, 'application/json'],
        [theirAddress, ourAddress, 'application/json'],
        [`${name}?hash=AB`, `${name}?hash=AB`, 'application/json'],
        [name, name, 'text/html'],
        [name, name, `${protobuf};q=0.5,application/json`],
        [`${name}/x`, `${name}/x`, 'application/json'],
      ]
      for (const [theirPath, ourPath, accept] of requests) {
        const theirs = await real(theirPath, { accept })
        const own = ours(ourPath, accept)
        expect(own?.status, theirPath).toBe(theirs.status)
        const cacheControl = { 'cache-control': 'no-cache, private', ...own?.headers }['cache-control']
        expect(cacheControl, theirPath).toBe(theirs.headers['cache-control'])
        expect(own?.headers['vary'], theirPath).toBe(theirs.headers['vary'])
      }
    })
  })

  describe('kubectl on our documents', () => {
    let front: Server
    let frontPlane: Pick<ControlPlane, 'kubeconfigFile'>

    beforeAll(async () => {
      front = await startFront(plane, ca, (path, headers) => {
        const { pathname } = new URL(path, plane.server)
        if (pathname.startsWith('/openapi/v2')) return { status: 404, headers: {}, body: Buffer.alloc(0) }
        if (!documentPath.test(pathname)) return undefined
        return ours(path, headers.accept ?? '', headers['if-none-match'])
      })
      const { port } = front.address() as { port: number }
      const config = JSON.parse(await readFile(plane.kubeconfigFile, 'utf8'))
      config.clusters[0].cluster.server = `https://127.0.0.1:${port}`
      frontPlane = { kubeconfigFile: join(plane.directory, 'front.kubeconfig') }
      await writeFile(frontPlane.kubeconfigFile, JSON.stringify(config))
    })

    afterAll(async () => {
      front.closeAllConnections()
      await once(front.close(), 'close')
    })

    const cacheFlag = () => `--cache-dir=${join(plane.directory, 'kubectl-cache')}`
    const run = (args: string[], input = '') => kubectl(frontPlane, [cacheFlag(), ...args], input)
    const configMap = (data: object, extra: object = {}) =>
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'told' }, data, ...extra })

    it('explains every resource', async () => {
      for (const { group, version, resources } of builtInGroupVersions()) {
        for (const { resource } of resources.filter(({ verbs }) => verbs.includes('get'))) {
          const text = await run(['explain', resource, `--api-version=${joinGroupVersion(group, version)}`])
          expect(text).toContain('FIELDS:')
          expect(text, resource).not.toContain('<no description>')
        }
      }
      expect(await run(['explain', 'pods.spec.containers.ports'])).toContain('Items are told apart by')
      expect(await run(['explain', '--recursive', 'deployments'])).toContain('terminationMessagePolicy')
    })

    it('creates and applies with strict validation, and shows differences', async () => {
      await run(['create', '--validate=strict', '-f', '-'], configMap({ a: '1' }))
      await run(['apply', '-f', '-'], configMap({ a: '2' }))
      await expect(run(['diff', '-f', '-'], configMap({ a: '3' }))).rejects.toMatchObject({
        code: 1,
        stdout: expect.stringContaining('+  a: "3"'),
      })
      await run(['apply', '--server-side', '--force-conflicts', '-f', '-'], configMap({ a: '4' }))
      expect(await run(['get', 'configmap', 'told', '-o', 'jsonpath={.data.a}'])).toBe('4')
      await expect(run(['apply', '-f', '-'], configMap({}, { dat: {} }))).rejects.toThrow(/unknown field "dat"/)
      await expect(run(['apply', '--dry-run=server', '-f', '-'], configMap({ a: '5' }))).resolves.toContain('dry run')
    })

    it('merges lists by their keys when it applies', async () => {
      const service = (ports: object[]) =>
        JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'two' }, spec: { ports } })
      await run(
        ['apply', '-f', '-'],
        service([
          { name: 'a', port: 80 },
          { name: 'b', port: 81 },
        ]),
      )
      await run(['apply', '-f', '-'], service([{ name: 'a', port: 80 }]))
      expect(await run(['get', 'service', 'two', '-o', 'jsonpath={.spec.ports[*].name}'])).toBe('a')
    })
  })

  describe('custom resources', () => {
    const row = (group: string, version: string): DiscoveryResource => ({
      resource: 'widgets',
      kind: 'Widget',
      singular: 'widget',
      namespaced: true,
      verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
      shortNames: ['wd'],
      stored: `${group}/${version}`,
      groupVersion: `${group}/${version}`,
    })

    it('take their places in discovery', async () => {
      for (const [group, version] of [
        ['b.example', 'v1'],
        ['a.example', 'v2'],
      ] as const) {
        await kubectl(plane, ['create', '-f', '-'], widgetDefinition(group, version))
        const priority = { group: 1000, version: 100 }
        registry.set({ group, version, priority, freshness: 'Current', resources: [row(group, version)] })
      }
      const accept = acceptHeader({ as: 'APIGroupDiscoveryList', encoding: 'json', version: 'v2' })
      await expect
        .poll(async () => String((await real('/apis', { accept })).body), poll)
        .toMatch(/a\.example.*b\.example/)
      await expect.poll(async () => String((await real('/apis')).body), poll).toMatch(/b\.example.*a\.example/)
      // The server writes each of these documents when it comes round to it.
      await vi.waitFor(() => expectSame('/apis', accept), poll)
      for (const path of ['/apis', '/apis/a.example', '/apis/a.example/v2'])
        await vi.waitFor(() => expectSame(path, 'application/json'), poll)
    })
  })
}, ['etcd', 'kube-apiserver', 'kubectl'])

function widgetDefinition(group: string, version: string): string {
  const schema = { openAPIV3Schema: { type: 'object' } }
  return JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', shortNames: ['wd'] },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  })
}

/** Descriptions are ours, and a lone `allOf` of one reference is that reference. */
function comparable(value: Json): Json {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries<Json>(value)
    .filter(([key, inner]) => !(key === 'description' && typeof inner === 'string'))
    .map(([key, inner]) => [key, comparable(inner)])
  const result = Object.fromEntries(entries)
  return entries.length === 1 && result.allOf?.length === 1 ? result.allOf[0] : result
}

function compare(where: string, own: Json, theirs: Json, differences: string[]): void {
  if (typeof own === 'object' && typeof theirs === 'object' && own !== null && theirs !== null) {
    const keys = new Set([...Object.keys(own), ...Object.keys(theirs)])
    for (const key of keys) compare(`${where} > ${key}`, own[key], theirs[key], differences)
  } else if (own !== theirs) {
    differences.push(`${where}: ours ${JSON.stringify(own)}, theirs ${JSON.stringify(theirs)}`)
  }
}

async function fetchBytes(url: string, ca: Buffer, headers: Record<string, string>): Promise<Answer> {
  const sent = request(url, { ca, headers, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const chunks = (await response.toArray()) as Buffer[]
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
}

/** An HTTPS server before the real one: what `answer` leaves undefined passes through. */
async function startFront(
  plane: ControlPlane,
  ca: Buffer,
  answer: (path: string, headers: IncomingHttpHeaders) => Answer | undefined,
): Promise<Server> {
  const read = (name: string) => readFile(join(plane.directory, name))
  const tls = { cert: await read('apiserver.crt'), key: await read('apiserver.key') }
  const front = createServer(tls, (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { url = '', method, headers } = incoming
    const own = method === 'GET' ? answer(url, headers) : undefined
    if (own !== undefined) {
      outgoing.writeHead(own.status, own.headers).end(own.body)
      return
    }
    const onward = request(plane.server + url, { method, headers, ca, agent: false }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    incoming.pipe(onward)
  })
  await once(front.listen(0, '127.0.0.1'), 'listening')
  return front
}
