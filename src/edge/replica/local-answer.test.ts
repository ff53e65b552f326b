import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { CollectionUpstream } from '../../../test/worlds/collection-upstream.ts'
import type { ByteSource } from '../../http/body/byte-source.ts'
import { readBody } from '../../http/body/request-body.ts'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { nextTurn } from '../../runtime/turns.ts'
import { scopeOf } from '../feeds/collection-scope.ts'
import { Feed } from '../feeds/feed.ts'
import { cursorAtEnd } from '../feeds/feed-cursor.ts'
import { FeedWatchBody } from '../feeds/feed-watch-body.ts'
import { KeptObject } from '../feeds/kept-object.ts'
import { MAX_YAML_LIST_BYTES } from '../feeds/list-pieces.ts'
import { MAX_YAML_OBJECT_BYTES, type Output } from '../feeds/representing.ts'
import { initialObjects, listAnswer, objectAnswer } from './local-answer.ts'
import type { CollectionRead } from './reading.ts'

const info = parseRequestInfo({ method: 'GET', path: '/api/v1/namespaces/default/configmaps' }) as ResourceRequest
const type = { apiVersion: 'v1', kind: 'ConfigMap', listKind: 'ConfigMapList' }
const options = { limit: 0, continueToken: '', resourceVersion: '', resourceVersionMatch: '' }
const scope = scopeOf(info)
const reading = { kind: 'list', info, scope, options } as unknown as CollectionRead

/** Every look at it takes a millisecond: so does every step of what is done in turns. */
class TickingClock extends ManualClock {
  #looks = 0

  override monotonicMs(): number {
    this.#looks += 1
    return super.monotonicMs() + this.#looks
  }
}

function configMap(name: string, data = 'x'): KeptObject {
  const metadata = { name, namespace: 'default', uid: name, resourceVersion: '7' }
  const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { data } }
  return new KeptObject('json', Buffer.from(JSON.stringify(object)))
}

const names = Array.from({ length: 400 }, (_, index) => `c${(index * 37) % 400}`)

describe('a list that is answered here', () => {
  /** One for all: those whose turns are over share a line. */
  const clock = new TickingClock()
  let feed: Feed
  /** How many objects were looked at in each turn of the event loop. */
  let looksInTurns: number[]
  let isWatched: boolean

  beforeEach(() => {
    const logger = pino({ level: 'silent' })
    feed = new Feed({ scope: scopeOf(info), upstream: new CollectionUpstream(), clock, random: () => 0.5, logger })
    feed.adopt({ objects: names.map((name) => configMap(name)), resourceVersion: '10' })
    looksInTurns = [0]
    isWatched = true
    const count = (): void => {
      looksInTurns.push(0)
      if (isWatched) setImmediate(count)
    }
    setImmediate(count)
    return () => {
      isWatched = false
    }
  })

  const selection = (): boolean => {
    looksInTurns[looksInTurns.length - 1] = (looksInTurns.at(-1) ?? 0) + 1
    return true
  }

  function output(encoding: 'json' | 'yaml', as: 'Object' | 'Table' = 'Object'): Output {
    const representation = as === 'Object' ? { as, encoding } : { as, encoding, version: 'v1', includeObject: 'None' }
    return { type, representation: representation as Output['representation'], pretty: false, nowMs: 0 }
  }

  const list = (shown: Output, signal = new AbortController().signal) =>
    listAnswer(feed, reading, { selection, output: shown, clock, signal })

  const listing = () => ({ selection, output: output('json'), clock, signal: new AbortController().signal })

  const whole = async (body: ByteSource): Promise<string> =>
    (await readBody(body, undefined, 100_000_000)).toString('utf8')

  it('leaves turns to others while it looks for what was asked for, and while it is made', async () => {
    const { body } = await list(output('json'))
    expect(Math.max(...looksInTurns)).toBeLessThanOrEqual(20)
    const turnsBefore = looksInTurns.length
    const { items } = JSON.parse(await whole(body)) as { items: { metadata: { name: string } }[] }
    expect(looksInTurns.length - turnsBefore).toBeGreaterThanOrEqual(20)
    expect(items.map(({ metadata }) => metadata.name)).toEqual(names.toSorted())
  })

  it('is of one moment, whatever changes meanwhile', async () => {
    const listing = list(output('json'))
    await nextTurn()
    feed.adopt({ objects: [configMap('c0')], resourceVersion: '11' })
    const { body } = await listing
    const { items, metadata } = JSON.parse(await whole(body)) as { items: unknown[]; metadata: unknown }
    expect([items.length, metadata]).toEqual([names.length, { resourceVersion: '10' }])
  })

  it('is whole where any version will do, whatever page is asked for, as of an API server', async () => {
    const asked = { ...reading, options: { ...reading.options, resourceVersion: '0', limit: 10 } }
    const { body } = await listAnswer(feed, asked, listing())
    const { items, metadata } = JSON.parse(await whole(body)) as { items: unknown[]; metadata: unknown }
    expect([items.length, metadata]).toEqual([names.length, { resourceVersion: '10' }])
  })

  it('comes in pages, with tokens that an API server understands', async () => {
    const pages: string[][] = []
    for (let continueToken = ''; ; ) {
      const asked = { ...reading, options: { ...reading.options, limit: 150, continueToken } }
      const { body } = await listAnswer(feed, asked, listing())
      const { items, metadata } = JSON.parse(await whole(body)) as {
        items: { metadata: { name: string } }[]
        metadata: { continue?: string }
      }
      pages.push(items.map((item) => item.metadata.name))
      if (metadata.continue === undefined) break
      continueToken = metadata.continue
      const { start } = JSON.parse(Buffer.from(continueToken, 'base64url').toString('utf8')) as { start: string }
      expect(start).toBe(`${pages.at(-1)?.at(-1)}\0`)
    }
    expect(pages.map(({ length }) => length)).toEqual([150, 150, 100])
    expect(pages.flat()).toEqual(names.toSorted())
  })

  it('goes on for nobody', async () => {
    const leaving = new AbortController()
    const listing = list(output('json'), leaving.signal)
    await nextTurn()
    leaving.abort(new Error('gone'))
    await expect(listing).rejects.toThrow('gone')
  })

  it.each(['yaml', 'json'] as const)('is the same in pieces as in one, as a Table in %s', async (encoding) => {
    const { body } = await list(output(encoding, 'Table'))
    const text = await whole(body)
    expect(text.match(/cells/g)).toHaveLength(names.length)
    if (encoding === 'json') expect((JSON.parse(text) as { rows: unknown[] }).rows).toHaveLength(names.length)
  })

  it('is not made YAML of where that takes too long', async () => {
    const large = 'x'.repeat(MAX_YAML_OBJECT_BYTES)
    feed.adopt({ objects: [configMap('large', large)], resourceVersion: '11' })
    await expect(list(output('yaml'))).rejects.toThrow(`at most ${MAX_YAML_OBJECT_BYTES} are sent as application/yaml`)
    expect(() => objectAnswer(configMap('large', large), output('yaml'))).toThrow('ask for application/json')
    const some = 'x'.repeat(MAX_YAML_OBJECT_BYTES / 2)
    const count = (2 * MAX_YAML_LIST_BYTES) / MAX_YAML_OBJECT_BYTES
    const objects = Array.from({ length: count }, (_, index) => configMap(`c${index}`, some))
    feed.adopt({ objects, resourceVersion: '12' })
    await expect(list(output('yaml'))).rejects.toMatchObject({ code: 406 })
  })

  it('leaves turns to others as a watch that begins with what there is', async () => {
    const over = new Promise<string[]>((resolve) => {
      const told: string[] = []
      const cursor = cursorAtEnd(feed)
      const body = new FeedWatchBody({
        ...{ feed, cursor, initial: initialObjects(feed), selection, output: output('json'), clock },
        ...{ allowBookmarks: true, endsInitialEvents: true, timeoutMs: 3_600_000, over: () => {} },
      })
      body.read({
        data: (piece) => {
          const { type: kind, object } = JSON.parse(piece.toString('utf8')) as { type: string; object: KeptObject }
          if (kind === 'BOOKMARK') resolve(told)
          else told.push(object.metadata.name ?? '')
        },
        end: () => resolve([]),
        broken: () => resolve([]),
      })
    })
    expect(await over).toEqual(names.toSorted())
    expect(Math.max(...looksInTurns)).toBeLessThanOrEqual(20)
  })
})
