import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { sourceOf, streamOf } from '../../../test/worlds/byte-sources.ts'
import { eventually, rest } from '../../../test/worlds/object-server.ts'
import { parseRequestInfo } from '../../kube/request-info.ts'
import { parseQuery } from '../../kube/request-query.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { Feeds } from '../feeds/feeds.ts'
import type { HeaderPairs, UpstreamAnswer } from '../upstream/upstream.ts'
import { MAX_KEPT_ANSWER_BYTES, type Passer, PassingAnswers } from './passing-answers.ts'
import { READ_AGAIN_MS } from './polled-lists.ts'
import { type Reading, readingOf } from './reading.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const holder = { kind: 'token', pool: 'token', token: 'secret', tokenHash: 'hash', account: 'reader' } as const
const reader: Passer = { ...holder, askedAtMs: 0 }

function reading(target: string): Reading {
  const [path = '', query = ''] = target.split('?')
  const headers = { get: () => undefined, all: () => [], names: () => [][Symbol.iterator]() }
  const info = parseRequestInfo({ method: 'GET', path, query })
  const found = readingOf({ method: 'GET', info, query: parseQuery(query), headers: headers as never })
  if (found === undefined) throw new Error(`${target} is none of the replica's`)
  return found
}

function map(name: string, resourceVersion: string): object {
  return { metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion }, data: { a: '1' } }
}

function list(resourceVersion: string, items: object[], next?: string): object {
  return { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion, continue: next }, items }
}

function answer(body: string | Buffer, status = 200, more: HeaderPairs = []): UpstreamAnswer {
  const headers: HeaderPairs = [['content-type', 'application/json'], ...more]
  return { status, headers, body: sourceOf(Readable.from([Buffer.from(body)])), trailers: () => [] }
}

describe('answers that pass', () => {
  let clock: ManualClock
  let feeds: Feeds
  let passing: PassingAnswers
  let logged: string[]

  beforeEach(() => {
    clock = new ManualClock()
    logged = []
    const logger = pino({ level: 'error' }, { write: (line) => logged.push((JSON.parse(line) as { msg: string }).msg) })
    const upstream = { request: () => Promise.reject(new Error('nothing here')) }
    feeds = new Feeds({ upstream, clock, random: () => 0.5, logger })
    passing = new PassingAnswers(feeds, clock, logger)
  })

  /** What the client reads of it. */
  const pass = async (target: string, given: UpstreamAnswer, by?: Passer): Promise<string> => {
    let text = ''
    const passer = by ?? { ...reader, askedAtMs: clock.nowMs() }
    for await (const chunk of streamOf(passing.pass(reading(target), given, passer).body)) text += String(chunk)
    await rest(5)
    return text
  }

  const keptNames = (target = maps): string[] => [...(feeds.find(reading(target).scope)?.objects.keys() ?? [])]

  it('are kept as they pass, whole lists and single objects', async () => {
    const text = JSON.stringify(list('10', [map('a', '3'), map('b', '4')]))
    expect(await pass(maps, answer(text))).toBe(text)
    expect(keptNames()).toEqual(['default/a', 'default/b'])
    expect(feeds.find(reading(maps).scope)?.version).toBe('10')
    await pass('/api/v1/namespaces/other/configmaps/c', answer(JSON.stringify({ kind: 'ConfigMap', ...map('c', '5') })))
    expect(keptNames('/api/v1/namespaces/other/configmaps/c')).toEqual(['default/c'])
  })

  it('reach their reader whatever goes wrong with keeping them: they come by connections that others share', async () => {
    feeds.ensure = () => {
      throw new Error('a defect')
    }
    const large = 'x'.repeat(MAX_KEPT_ANSWER_BYTES + 1)
    expect(await pass(maps, answer(large))).toBe(large)
    const text = JSON.stringify(list('10', [map('a', '3')]))
    expect(await pass(maps, answer(text))).toBe(text)
    expect(logged).toEqual(['an answer could not be kept', 'an answer could not be kept'])
  })

  it('take the place of what is kept where the versions of the API server have gone back', async () => {
    await pass(maps, answer(JSON.stringify(list('100', [map('lost', '90')]))))
    const asked = clock.nowMs()
    await clock.advance(2_000)
    const restored = answer(JSON.stringify(list('50', [map('restored', '40')])))
    // One that was under way when the other came is merely late, and one of any version may be old.
    await pass(maps, answer(JSON.stringify(list('99', []))), { ...reader, askedAtMs: asked - 1 })
    await clock.advance(2_000)
    await pass(`${maps}?resourceVersion=0`, answer(JSON.stringify(list('98', []))))
    expect(keptNames()).toEqual(['default/lost'])
    await clock.advance(2_000)
    await pass(maps, restored)
    expect(keptNames()).toEqual(['default/restored'])
    expect(feeds.find(reading(maps).scope)?.version).toBe('50')
  })

  it('are not kept where they were asked for as they once were', async () => {
    const old = answer(JSON.stringify(list('7', [map('gone', '3')])))
    await pass(`${maps}?resourceVersion=7&resourceVersionMatch=Exact`, old)
    await pass(`${maps}?resourceVersion=7&limit=5`, answer(JSON.stringify(list('7', [map('gone', '3')]))))
    expect(feeds.size).toBe(0)
    await pass(`${maps}?resourceVersion=7&resourceVersionMatch=NotOlderThan`, answer(JSON.stringify(list('9', []))))
    expect(feeds.find(reading(maps).scope)?.version).toBe('9')
  })

  it('are kept uncompressed', async () => {
    const text = JSON.stringify(list('10', [map('a', '3')]))
    await pass(maps, answer(gzipSync(text), 200, [['content-encoding', 'gzip']]))
    await eventually(() => keptNames().length === 1)
    expect(keptNames()).toEqual(['default/a'])
  })

  it('are kept without the white space that one reader wanted, which would end an event of a watch', async () => {
    await pass(`${maps}?pretty=true`, answer(`${JSON.stringify(list('10', [map('a', '3')]), null, 2)}\n`))
    const [inList] = feeds.find(reading(maps).scope)?.objects.values() ?? []
    const one = '/api/v1/namespaces/other/configmaps/a'
    await pass(one, answer(`${JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', ...map('a', '3') })}\n`))
    const [single] = feeds.find(reading(one).scope)?.objects.values() ?? []
    const wanted = JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', ...map('a', '3') })
    expect(inList?.document.toString('utf8')).toBe(wanted)
    expect(single?.document.toString('utf8')).toBe(wanted)
  })

  it('are kept page by page, once the last has come, and not at all where a page is missing', async () => {
    await pass(`${maps}?limit=1`, answer(JSON.stringify(list('10', [map('a', '3')], 'next'))))
    expect(keptNames()).toEqual([])
    await pass(`${maps}?limit=1&continue=next`, answer('{}', 500))
    await pass(`${maps}?limit=1&continue=next`, answer(JSON.stringify(list('10', [map('b', '4')]))))
    expect(keptNames()).toEqual(['default/a', 'default/b'])
    await pass(`${maps}?limit=1&continue=other`, answer(JSON.stringify(list('20', [map('z', '19')]))))
    expect(keptNames()).toEqual(['default/a', 'default/b'])
  })

  it('of two versions make no list together', async () => {
    await pass(`${maps}?limit=1`, answer(JSON.stringify(list('10', [map('a', '3')], 'next'))))
    await pass(`${maps}?limit=1&continue=next`, answer(JSON.stringify(list('11', [map('b', '4')]))))
    expect(keptNames()).toEqual([])
  })

  it('keep the lists of one program apart, and never take an older one for a newer', async () => {
    const labelled = `${maps}?labelSelector=on%3D1`
    await pass(maps, answer(JSON.stringify(list('10', [map('a', '3'), map('b', '4')]))))
    await pass(labelled, answer(JSON.stringify(list('11', [map('a', '3')]))))
    await clock.advance(READ_AGAIN_MS)
    await pass(maps, answer(JSON.stringify(list('9', []))), reader)
    expect(keptNames()).toEqual(['default/a', 'default/b'])
    expect(keptNames(labelled)).toEqual(['default/a'])
  })

  it('are not kept where they were cut off, or cannot be read', async () => {
    const body = Readable.from(
      (async function* () {
        yield Buffer.from(JSON.stringify(list('10', [])).slice(0, 20))
        throw new Error('the link is gone')
      })(),
    )
    const headers: HeaderPairs = [['content-type', 'application/json']]
    const cut = { status: 200, headers, body: sourceOf(body), trailers: () => [] }
    await expect(pass(maps, cut)).rejects.toThrow('the link is gone')
    await pass(maps, answer('{"kind":'))
    expect(feeds.find(reading(maps).scope)?.isComplete ?? false).toBe(false)
  })

  it('say that a single object is gone, and nothing of a collection', async () => {
    const one = `${maps}/a`
    await pass(one, answer(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', ...map('a', '3') })))
    expect(keptNames(one)).toEqual(['default/a'])
    await pass(one, answer('{}', 404))
    expect(keptNames(one)).toEqual([])
    await pass(maps, answer(JSON.stringify(list('10', [map('a', '3')]))))
    await pass(one, answer('{}', 404))
    expect(keptNames()).toEqual(['default/a'])
  })

  it('of one object are kept beside an older list that has it, and not beside a newer', async () => {
    const one = `${maps}/a`
    const version = (target: string): string | undefined => feeds.find(reading(target).scope)?.version
    await pass(maps, answer(JSON.stringify(list('10', [map('a', '3')]))))
    await pass(one, answer(JSON.stringify({ kind: 'ConfigMap', ...map('a', '3') })))
    expect(version(one)).toBeUndefined()
    await pass(one, answer(JSON.stringify({ kind: 'ConfigMap', ...map('a', '12') })))
    expect(version(one)).toBe('12')
    expect(version(maps)).toBe('10')
  })

  it('that come in quick succession are read in between, and all of them when the API server is lost', async () => {
    const version = (): string | undefined => feeds.find(reading(maps).scope)?.version
    for (const each of ['10', '11', '12']) await pass(maps, answer(JSON.stringify(list(each, [map('a', '3')]))))
    expect(version()).toBe('10')
    await clock.advance(READ_AGAIN_MS)
    await rest(5)
    expect(version()).toBe('12')
    await pass(maps, answer(JSON.stringify(list('13', [map('b', '13')]))))
    expect(version()).toBe('12')
    passing.cutOff()
    expect(keptNames()).toEqual(['default/b'])
  })

  it('of what a feed follows are passed on as they are', async () => {
    const { scope } = reading(maps)
    await pass(maps, answer(JSON.stringify(list('10', [map('a', '3')]))))
    const feed = feeds.find(scope)
    if (feed === undefined) throw new Error('there is no feed')
    Object.defineProperty(feed, 'state', { value: 'following' })
    for (const target of [maps, `${maps}/a`]) {
      const given = answer(JSON.stringify(list('11', [])))
      expect(passing.pass(reading(target), given, reader)).toBe(given)
    }
  })

  it('say what the lists of a custom resource are called, to a feed that has only seen its objects', async () => {
    const gadgets = '/apis/example.com/v1/gadgets'
    const toolbox = { kind: 'Toolbox', apiVersion: 'example.com/v1', metadata: { resourceVersion: '11' }, items: [] }
    const feed = feeds.ensure(reading(gadgets).scope, 'reader')
    if (feed === undefined) throw new Error('there is no feed')
    feed.adopt({ objects: [], resourceVersion: '10' })
    feed.learn({ apiVersion: 'example.com/v1', kind: 'Gadget' })
    Object.defineProperty(feed, 'state', { value: 'following' })
    expect(feed.type).toMatchObject({ listKind: 'GadgetList', isListKindGuessed: true })
    // A part of the collection is called the same.
    const text = JSON.stringify(toolbox)
    expect(await pass('/apis/example.com/v1/namespaces/shop/gadgets', answer(text))).toBe(text)
    expect(feed.type).toEqual({ apiVersion: 'example.com/v1', kind: 'Gadget', listKind: 'Toolbox' })
    expect(feed.version).toBe('10')
    const given = answer(text)
    expect(passing.pass(reading(gadgets), given, reader)).toBe(given)
  })
})
