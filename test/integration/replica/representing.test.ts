/** What a feed says of its objects, byte for byte beside what the API server says of them: every representation of every read. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { readList, typeOfList } from '../../../src/edge/feeds/feed-source.ts'
import {
  bookmarkFrame,
  type CollectionType,
  eventFrame,
  listPieces,
  type Output,
  objectBody,
} from '../../../src/edge/feeds/representing.ts'
import { type Reading, readingOf } from '../../../src/edge/replica/reading.ts'
import { documentFormat } from '../../../src/kube/document-format.ts'
import type { KubeClient, KubeObject } from '../../../src/kube/index.ts'
import { responseContentType } from '../../../src/kube/representation.ts'
import { parseRequestInfo } from '../../../src/kube/request-info.ts'
import { parseQuery } from '../../../src/kube/request-query.ts'
import { type OwnApiServer, startOwnApiServer } from '../../worlds/own-api-server.ts'

const protobuf = 'application/vnd.kubernetes.protobuf'
const json = 'application/json'
const partial = ';as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const partialList = ';as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const table = ';as=Table;g=meta.k8s.io;v=v1'

const paths = {
  configmaps: '/api/v1/namespaces/default/configmaps',
  pods: '/api/v1/namespaces/default/pods',
  services: '/api/v1/namespaces/default/services',
  secrets: '/api/v1/namespaces/default/secrets',
} as const
type Name = keyof typeof paths

const samples: Record<Name, KubeObject[]> = {
  configmaps: ['one', 'two', 'three'].map((name) => ({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, labels: { app: 'a' }, annotations: { '10': 'x', '9': 'y', text: 'ünï <& "quoted"\n' } },
    data: { key: name, '0': 'zero' },
    binaryData: { raw: 'AAEC' },
  })),
  pods: [
    {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'web' },
      spec: {
        serviceAccountName: 'default',
        containers: [{ name: 'c', image: 'img', resources: { requests: { cpu: '100m', memory: '64Mi' } } }],
      },
    },
  ],
  services: [{ kind: 'Service', apiVersion: 'v1', metadata: { name: 'svc' }, spec: { ports: [{ port: 80 }] } }],
  secrets: [{ kind: 'Secret', apiVersion: 'v1', metadata: { name: 's' }, stringData: { password: 'secret' } }],
}

const account = '/api/v1/namespaces/default/serviceaccounts/default'

let api: OwnApiServer
let client: KubeClient

beforeAll(async () => {
  api = await startOwnApiServer([])
  client = api.client()
  // Whoever makes a Pod needs the account that a controller makes.
  await vi.waitFor(async () => expect((await ask(account, json)).status).toBe(200))
  for (const [name, objects] of Object.entries(samples))
    for (const object of objects) await client.exchange({ method: 'POST', path: paths[name as Name] }, object)
})
afterAll(() => api.stop())

async function ask(path: string, accept: string) {
  const { status, headers, body } = await client.raw({ method: 'GET', path, headers: [['accept', accept]] })
  const pieces: Buffer[] = []
  for await (const piece of body as AsyncIterable<Buffer>) pieces.push(piece)
  return { status, contentType: String(headers['content-type']), body: Buffer.concat(pieces) }
}

/** As a feed has it that follows the collection in this encoding. */
async function kept(name: Name, accept: string) {
  const { contentType, body } = await ask(paths[name], accept)
  const format = documentFormat(contentType)
  if (format === undefined) throw new Error(contentType)
  const { items, metadata } = readList(format, body)
  const { apiVersion, kind, listKind = '' } = typeOfList(format.walker.typeOf(body))
  return { objects: items, version: metadata.resourceVersion ?? '', type: { apiVersion, kind, listKind } }
}

function readingFor(target: string, accept: string): Reading {
  const [path = '', query = ''] = target.split('?')
  const parsed = parseQuery(query)
  const info = parseRequestInfo({ method: 'GET', path, query })
  const all = new Map([
    ['accept', accept],
    ['user-agent', 'kube-causeway'],
  ])
  const headers = { get: (name: string) => all.get(name), all: () => [], names: () => all.keys() }
  const reading = readingOf({ method: 'GET', info, query: parsed, headers } as never)
  if (reading === undefined) throw new Error(`${target} is none of the replica's`)
  return reading
}

function outputOf({ output }: Reading, type: CollectionType): Output {
  return { type, representation: output.representation, pretty: output.pretty, nowMs: Date.now() }
}

const accepts = [json, 'application/yaml', protobuf] as const
const objectAccepts = [...accepts, `${json}${partial}`, `${protobuf}${partial}`, `${json}${table}`]
const listAccepts = [...accepts, `${json}${partialList}`, `${protobuf}${partialList}`, `${json}${table}`]
const names = Object.keys(paths) as Name[]

describe.each([json, protobuf])('of objects that were kept as %s', (keptAs) => {
  it.each(names.flatMap((name) => objectAccepts.map((accept) => [name, accept] as const)))(
    'one of %s as %s',
    async (name, accept) => {
      const { objects, type } = await kept(name, keptAs)
      for (const suffix of ['', '?pretty=true'])
        for (const object of objects) {
          const target = `${paths[name]}/${object.metadata.name}${suffix}`
          const { body, contentType } = await ask(target, accept)
          const reading = readingFor(target, accept)
          expect(responseContentType(reading.output.representation, { stream: false })).toBe(contentType)
          expectSame(objectBody(object, outputOf(reading, type)), body, accept)
        }
    },
  )

  it.each(names.flatMap((name) => listAccepts.map((accept) => [name, accept] as const)))(
    'a list of %s as %s',
    async (name, accept) => {
      const { objects, type, version } = await kept(name, keptAs)
      for (const suffix of ['', '?pretty=true']) {
        const target = `${paths[name]}${suffix}`
        const { body } = await ask(target, accept)
        const output = outputOf(readingFor(target, accept), type)
        const pieces = [...listPieces(objects, { resourceVersion: versionIn(body) ?? version }, output)]
        expectSame(Buffer.concat(pieces), body, accept)
      }
    },
  )

  it.each(
    names.flatMap((name) =>
      [json, protobuf, `${json}${partial}`, `${protobuf}${partial}`, `${json}${table}`].map(
        (accept) => [name, accept] as const,
      ),
    ),
  )('the first events of a watch of %s as %s', async (name, accept) => {
    const { objects, type } = await kept(name, keptAs)
    const target = `${paths[name]}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1`
    const { body } = await ask(target, accept)
    const output = outputOf(readingFor(target, accept), type)
    const version = lastVersion(body, accept)
    const frames = objects.map((object, index) => eventFrame('ADDED', object, output, index === 0))
    const ours = Buffer.concat([...frames, bookmarkFrame(version, output, true)])
    expectSame(ours, body.subarray(0, Math.max(ours.length, body.length)), accept)
  })
})

/** Of a list; the version of the cluster may have moved on since the objects were read. */
function versionIn(body: Buffer): string | undefined {
  return /"?resourceVersion"?: ?"(\d+)"/.exec(body.toString('latin1').replace(/"items"[\s\S]*/, ''))?.[1]
}

function lastVersion(body: Buffer, accept: string): string {
  const format = documentFormat(accept.split(';')[0] ?? '')
  if (format === undefined) throw new Error(accept)
  let version = ''
  for (const frame of format.frames().push(body)) {
    const { type, object } = format.walker.readEvent(frame)
    if (type === 'BOOKMARK')
      version = /resourceVersion\W+(\d+)|\*.(\d+)/.exec(Buffer.from(object).toString('latin1'))?.[1] ?? version
    if (type === 'BOOKMARK' && format.encoding === 'protobuf')
      version = format.walker.identityOf(object).resourceVersion
  }
  return version
}

function expectSame(ours: Buffer, theirs: Buffer, accept: string): void {
  if (accept.startsWith(protobuf)) expect(ours.toString('hex')).toBe(theirs.toString('hex'))
  else expect(ours.toString('utf8')).toBe(theirs.toString('utf8'))
}
