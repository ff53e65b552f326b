/**
 * The filters on what a real kube-apiserver sends: 2,000 Services and EndpointSlices, compressed or not, in JSON and in
 * protobuf, as a list and as a stream, against the long way of decoding and editing.
 */

import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { AnswerHead, FilteredBody } from '../../src/edge/filters/filter-plan.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { JsonLineDecoder, LengthDelimitedDecoder } from '../../src/kube/watch/frames.ts'
import { type Format, formats, stableText } from '../contract/walker/formats.ts'
import { sourceOf, streamOf } from '../worlds/byte-sources.ts'
import { endpoint } from '../worlds/filters-objects.ts'
import { FilterWorld } from '../worlds/filters-world.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'

const objectCount = 2_000
const creators = 24
const setupMs = 600_000
const advertised = '10.97.76.1'
const services = '/api/v1/services'
const slices = '/apis/discovery.k8s.io/v1/endpointslices'
const kubeProxy = 'system:serviceaccount:causeway-system:kube-proxy'

/** What the client is to see, the long way. */
function editPlainly(object: KubeObject): KubeObject {
  const { namespace, name } = object.metadata ?? {}
  if (namespace !== 'default' || name !== 'kubernetes') return object
  const onPort = (ports: unknown): unknown =>
    (ports as KubeObject[]).map((one) => (one['name'] === 'https' ? { ...one, port: endpoint.port } : one))
  const spec = object['spec'] as KubeObject | undefined
  if (spec === undefined) {
    const endpoints = [{ addresses: [endpoint.address], conditions: { ready: true, serving: true } }]
    return { ...object, endpoints, ports: onPort(object['ports']) }
  }
  const address = { clusterIP: endpoint.address, clusterIPs: [endpoint.address], ipFamilies: ['IPv4'] }
  return { ...object, spec: { ...spec, ...address, ports: onPort(spec['ports']) } }
}

function isKubernetes(object: KubeObject): boolean {
  return editPlainly(object) !== object
}

describeReal('filters on answers of kube-apiserver', () => {
  let plane: ControlPlane
  let agent: Agent

  async function ask(
    method: string,
    path: string,
    headers: Record<string, string>,
    body = '',
  ): Promise<IncomingMessage> {
    const authorization = `Bearer ${plane.adminToken}`
    const asked = request(new URL(path, plane.server), { method, agent, headers: { authorization, ...headers } })
    asked.end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return answer
  }

  async function create(path: string, object: KubeObject): Promise<void> {
    const answer = await ask('POST', path, { 'content-type': 'application/json' }, JSON.stringify(object))
    const text = (await buffer(answer)).toString()
    if (answer.statusCode !== 201) throw new Error(text)
  }

  async function createBoth(index: number): Promise<void> {
    const metadata = { name: `web-${index}`, namespace: 'default' }
    const ports = [{ name: 'https', port: 443 }]
    await create('/api/v1/namespaces/default/services', { metadata, spec: { ports } })
    await create('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true } }],
      ports,
    })
  }

  beforeAll(async () => {
    // So that kube-apiserver writes the slice of its own Service.
    const apiServerFlags = [`--advertise-address=${advertised}`, '--endpoint-reconciler-type=master-count']
    plane = await startControlPlane({ apiServerFlags })
    agent = new Agent({ keepAlive: true, ca: await readFile(plane.caFile) })
    let next = 0
    const creator = async (): Promise<void> => {
      while (next < objectCount) await createBoth(next++)
    }
    await Promise.all(Array.from({ length: creators }, creator))
    const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes'
    await vi.waitFor(async () => {
      const answer = await ask('GET', path, {})
      await buffer(answer)
      expect(answer.statusCode).toBe(200)
    }, setupMs)
  }, setupMs)

  afterAll(async () => {
    agent?.destroy()
    await plane?.stop()
  })

  async function filtered(path: string, accept: string, encoding: string, sentUp: string): Promise<FilteredBody> {
    const answer = await ask('GET', path, { accept, 'accept-encoding': sentUp })
    const head: AnswerHead = {
      status: answer.statusCode ?? 0,
      contentType: answer.headers['content-type'] ?? '',
      contentEncoding: answer.headers['content-encoding'] ?? '',
      acceptEncoding: encoding,
    }
    expect(head.contentEncoding).toBe(path.includes('watch') || sentUp === 'identity' ? '' : 'gzip')
    const plan = await new FilterWorld().choose(path, path.startsWith(slices) ? kubeProxy : 'node')
    const body = await plan?.begin(head)?.run(sourceOf(answer))
    if (body === undefined) throw new Error('not filtered')
    return body
  }

  const matrix = [services, slices].flatMap((path) => formats.map((format) => ({ path, format, name: format.name })))

  describe.each(matrix)('$path in $name', ({ path, format }) => {
    const { walker, decode } = format
    const accept = format.name === 'JSON' ? 'application/json' : 'application/vnd.kubernetes.protobuf'

    it.each(['gzip', 'identity'])('as a list that came as %s, sent compressed', async (sentUp) => {
      const original = await buffer(await ask('GET', path, { accept, 'accept-encoding': 'identity' }))
      // Of the same version: leases are renewed meanwhile.
      const version = decode(original).metadata?.resourceVersion
      const pinned = `${path}?resourceVersion=${version}&resourceVersionMatch=Exact`
      const { contentEncoding, body } = await filtered(pinned, accept, 'gzip', sentUp)
      expect(contentEncoding).toBe('gzip')
      const seen = gunzipSync(await buffer(streamOf(body)))
      const [before, after] = [walker.items(original), walker.items(seen)]
      expect(after).toHaveLength(objectCount + 1)
      const documents = (items: typeof before): string[] => items.map((item) => hex(item.bytes))
      const at = before.findIndex(({ identity }) => identity.name === 'kubernetes')
      expect(documents(after.toSpliced(at, 1))).toEqual(documents(before.toSpliced(at, 1)))
      const items = (decode(original)['items'] as KubeObject[]).map(editPlainly)
      expect(stableText(decode(seen))).toBe(stableText({ ...decode(original), items }))
      expect(stableText(decode(seen))).toContain(`"${endpoint.address}"`)
    })

    it('as a stream', async () => {
      const query = 'watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
      const stream = `${path}?${query}`
      const original = await initialEvents(format, await ask('GET', stream, { accept, 'accept-encoding': 'identity' }))
      const seen = await initialEvents(format, streamOf((await filtered(stream, accept, 'gzip', 'gzip')).body))
      expect(seen).toHaveLength(objectCount + 2)
      for (const [index, frame] of original.entries()) {
        const [before, after] = [frame, seen[index] as Uint8Array].map((one) => walker.readEvent(one))
        const object = decode(before?.object as Uint8Array)
        expect(after?.type).toBe(before?.type)
        // The bookmark of each stream tells the version of its own moment.
        if (before?.type === 'BOOKMARK') continue
        if (!isKubernetes(object)) expect(hex(seen[index] as Uint8Array)).toBe(hex(frame))
        else expect(stableText(decode(after?.object as Uint8Array))).toBe(stableText(editPlainly(object)))
      }
      expect(original.map((frame) => decode(walker.readEvent(frame).object)).filter(isKubernetes)).toHaveLength(1)
    })
  })
})

/** The frames up to and with the bookmark that ends the initial events; then the stream is left. */
async function initialEvents(format: Format, body: Readable): Promise<Uint8Array[]> {
  const decoder = format.name === 'JSON' ? new JsonLineDecoder() : new LengthDelimitedDecoder()
  const frames: Uint8Array[] = []
  for await (const chunk of body) {
    frames.push(...decoder.push(chunk as Buffer))
    const last = frames.at(-1)
    if (last !== undefined && format.walker.readEvent(last).type === 'BOOKMARK') break
  }
  return frames
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
