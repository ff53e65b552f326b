import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { sourceOf } from '../../../test/worlds/byte-sources.ts'
import { rest } from '../../../test/worlds/object-server.ts'
import type { ByteSource } from '../../http/body/byte-source.ts'
import { PulledSource } from '../../http/body/pulled-source.ts'
import { DOCUMENT_FORMATS } from '../../kube/document-format.ts'
import { RelayedWatch } from './relayed-watch.ts'

const format = DOCUMENT_FORMATS.json

function frame(type: string, version: string, annotations?: object): string {
  const metadata = { name: 'a', resourceVersion: version, ...(annotations && { annotations }) }
  return `${JSON.stringify({ type, object: { kind: 'ConfigMap', apiVersion: 'v1', metadata } })}\n`
}

const initialEnd = { 'k8s.io/initial-events-end': 'true' }

/** A watch between an API server and a feed, both played here. */
function world({ fromVersion = '', isReady = true } = {}) {
  const upstream = new PassThrough()
  const state = { isReady, isOver: 0 }
  const asked: string[] = []
  const heard: string[] = []
  let isRestCancelled = false
  const takeOver = (version: string): ByteSource | undefined => {
    asked.push(version)
    if (!state.isReady) return undefined
    let isTold = false
    return new PulledSource({
      next: () => {
        if (isTold) return 'wait'
        isTold = true
        return Buffer.from(`from the feed after ${version}`)
      },
      over: () => {
        isRestCancelled = true
      },
    })
  }
  const watch = new RelayedWatch({
    upstream: sourceOf(upstream),
    format,
    fromVersion,
    takeOver,
    over: () => {
      state.isOver += 1
    },
  })
  watch.read({
    data: (piece) => heard.push(piece.toString('utf8').trimEnd()),
    end: () => heard.push('end'),
    broken: ({ message }) => heard.push(`broken: ${message}`),
  })
  return { upstream, state, asked, heard, watch, isRestCancelled: () => isRestCancelled }
}

describe('a watch that begins at the API server', () => {
  it('goes on from the feed after the initial events, and not before', async () => {
    const { upstream, heard, asked } = world()
    upstream.write(frame('ADDED', '5'))
    await rest(3)
    expect(asked).toEqual([])
    upstream.write(frame('BOOKMARK', '9', initialEnd) + frame('MODIFIED', '10'))
    await rest(3)
    expect(asked).toEqual(['9'])
    expect(heard.map((line) => line.slice(0, 18))).toEqual([
      '{"type":"ADDED","o',
      '{"type":"BOOKMARK"',
      'from the feed afte',
    ])
    expect(upstream.destroyed).toBe(true)
  })

  it('goes on from the feed after any event where it was resumed', async () => {
    const { upstream, asked } = world({ fromVersion: '6' })
    upstream.write(frame('MODIFIED', '7'))
    await rest(3)
    expect(asked).toEqual(['7'])
  })

  it('passes everything on while the feed cannot', async () => {
    const { upstream, state, heard, asked } = world({ fromVersion: '6', isReady: false })
    upstream.write(frame('MODIFIED', '7') + frame('MODIFIED', '8'))
    await rest(3)
    expect(heard).toHaveLength(2)
    upstream.end()
    await rest(3)
    expect(heard.at(-1)).toBe('end')
    expect(asked).toEqual(['7', '8'])
    expect(state.isOver).toBe(1)
  })

  it.each([
    ['between two events', ''],
    ['within an event, of which nothing was passed on', '{"type":"MODIF'],
  ])('goes on from the feed where the link breaks %s', async (_when, piece) => {
    const { upstream, state, heard, asked } = world({ fromVersion: '6', isReady: false })
    upstream.write(frame('MODIFIED', '7') + piece)
    await rest(3)
    state.isReady = true
    upstream.destroy(new Error('the link is gone'))
    await rest(3)
    expect(asked).toEqual(['7', '7'])
    expect(heard.slice(1)).toEqual(['from the feed after 7'])
    expect(state.isOver).toBe(0)
  })

  it('goes on from the feed where the link breaks before anything was told', async () => {
    const { upstream, heard, asked } = world({ fromVersion: '6' })
    upstream.destroy(new Error('the link is gone'))
    await rest(3)
    expect(asked).toEqual(['6'])
    expect(heard).toEqual(['from the feed after 6'])
  })

  it('breaks with the link where the feed cannot go on', async () => {
    const { upstream, state, heard } = world({ isReady: false })
    upstream.write(frame('ADDED', '7'))
    await rest(3)
    upstream.destroy(new Error('the link is gone'))
    await rest(3)
    expect(heard.at(-1)).toBe('broken: the link is gone')
    expect(state.isOver).toBe(1)
  })

  it('lets go of whatever it reads from when nobody reads it', async () => {
    const first = world({ isReady: false })
    first.watch.cancel()
    await rest(3)
    expect(first.upstream.destroyed).toBe(true)
    expect(first.state.isOver).toBe(1)
    const second = world({ fromVersion: '6' })
    second.upstream.write(frame('MODIFIED', '7'))
    await rest(3)
    second.watch.cancel()
    expect(second.isRestCancelled()).toBe(true)
  })
})
