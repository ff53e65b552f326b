/** What a feed says of its objects, byte for byte beside what the API server says of them: every representation of every read. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { learnType, readList, typeOfList } from '../../../src/edge/feeds/kept-list.ts'
import { listPieces } from '../../../src/edge/feeds/list-pieces.ts'
import {
  bookmarkFrame,
  type CollectionType,
  eventFrame,
  type Output,
  objectBody,
} from '../../../src/edge/feeds/representing.ts'
import { type Reading, readingOf } from '../../../src/edge/replica/reading.ts'
import { documentFormat } from '../../../src/kube/document-format.ts'
import type { KubeClient, KubeObject } from '../../../src/kube/index.ts'
import { responseContentType } from '../../../src/kube/representation.ts'
import { parseRequestInfo } from '../../../src/kube/request-info.ts'
import { parseQuery } from '../../../src/kube/request-query.ts'
import { finished } from '../../../src/runtime/steps.ts'
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
  const { items, metadata } = finished(readList(format, body))
  const type = learnType(undefined, typeOfList(format.walker.typeOf(body), items[0]))
  if (type === undefined) throw new Error('a list that does not say what it is')
  return { objects: items, version: metadata.resourceVersion ?? '', type }
}

/** Both of one version: now and then something else in the cluster changes in between. */
async function keptAndListed(name: Name, keptAs: string, target: string, accept: string) {
  for (;;) {
    const before = await kept(name, keptAs)
    const { body } = await ask(target, accept)
    const { version } = await kept(name, keptAs)
    if (before.version === version) return { ...before, body }
  }
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
const objectAccepts = [...accepts, `${json}${partial}`, `${protobuf}${partial}`]
const listAccepts = [...accepts, `${json}${partialList}`, `${protobuf}${partialList}`, `${json}${table}`]
const names = Object.keys(paths) as Name[]

const each = (forms: readonly string[]): (readonly [Name, string])[] =>
  names.flatMap((name) => forms.map((accept) => [name, accept] as const))

describe.each([json, protobuf])('of objects that were kept as %s', (keptAs) => {
  it.each(each(objectAccepts))('one of %s as %s', async (name, accept) => {
    const { objects, type } = await kept(name, keptAs)
    for (const suffix of ['', '?pretty=true'])
      for (const object of objects) {
        const target = `${paths[name]}/${object.metadata.name}${suffix}`
        const { body, contentType } = await ask(target, accept)
        const reading = readingFor(target, accept)
        expect(responseContentType(reading.output.representation, { stream: false })).toBe(contentType)
        expectSame(objectBody(object, outputOf(reading, type)), body, accept)
      }
  })

  it.each(each(listAccepts))('a list of %s as %s', async (name, accept) => {
    for (const suffix of ['', '?pretty=true']) {
      const target = `${paths[name]}${suffix}`
      const { objects, type, version, body } = await keptAndListed(name, keptAs, target, accept)
      const output = outputOf(readingFor(target, accept), type)
      const pieces = [...finished(listPieces(objects, { resourceVersion: version }, output))]
      expectSame(Buffer.concat(pieces.filter((piece) => piece !== undefined)), body, accept)
    }
  })

  it.each(each([json, protobuf]))('the first events of a watch of %s as %s', async (name, accept) => {
    const { objects, type } = await kept(name, keptAs)
    const { body } = await ask(`${paths[name]}${watchQuery}`, accept)
    const output = outputOf(readingFor(`${paths[name]}${watchQuery}`, accept), type)
    const frames = objects.map((object, index) => eventFrame('ADDED', object, output, index === 0))
    const version = versionOfBookmark(body, accept)
    // One ends the initial events, the other comes with the end of the time.
    const bookmarks = [bookmarkFrame(version, output, true), bookmarkFrame(version, output)]
    expectSame(Buffer.concat([...frames, ...bookmarks]), body, accept)
  })
})

const watchQuery =
  '?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1'

function versionOfBookmark(body: Buffer, accept: string): string {
  const format = documentFormat(accept)
  for (const frame of format?.frames().push(body) ?? []) {
    const event = format?.walker.readEvent(frame)
    if (event?.type === 'BOOKMARK') return format?.walker.identityOf(event.object).resourceVersion ?? ''
  }
  return ''
}

/** Ages are as old as the question. */
function withoutAges(text: string): string {
  return text.replaceAll(/"\d+s"/g, '"age"')
}

function expectSame(ours: Buffer, theirs: Buffer, accept: string): void {
  if (accept.startsWith(protobuf)) expect(ours.toString('hex')).toBe(theirs.toString('hex'))
  else expect(withoutAges(ours.toString('utf8'))).toBe(withoutAges(theirs.toString('utf8')))
}
