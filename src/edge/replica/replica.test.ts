import { describe, expect, it } from 'vitest'
import { BytesSource } from '../../http/body/bytes-source.ts'
import { parseRequestInfo, type ResourceRequest } from '../../kube/request-info.ts'
import { parseQuery } from '../../kube/request-query.ts'
import { accessDenied } from '../../kube/status/access-denied.ts'
import { serviceUnavailable } from '../../kube/status/availability-errors.ts'
import { unauthorized } from '../../kube/status/request-errors.ts'
import { ManualClock } from '../../runtime/clock.ts'
import type { Reachability } from '../reach/reach.ts'
import type { ReachName } from '../reach/reach-core.ts'
import { type UpstreamAnswer, UpstreamError } from '../upstream/upstream.ts'
import { Documents } from './documents.ts'
import { Replica, SLOW_ANSWER_MS } from './replica.ts'
import type { ReplicaRequest } from './replica-request.ts'
import { TokenAnswers } from './token-answers.ts'

interface Deferred {
  readonly promise: Promise<UpstreamAnswer>
  readonly settle: (answer: UpstreamAnswer) => void
  readonly fail: (error: Error) => void
}

function deferred(): Deferred {
  let settle = (_answer: UpstreamAnswer): void => {}
  let fail = (_error: Error): void => {}
  const promise = new Promise<UpstreamAnswer>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  return { promise, settle, fail }
}

function answer(name: string, status = 200): UpstreamAnswer & { readonly isCancelled: () => boolean } {
  let isCancelled = false
  const source = new BytesSource(Buffer.from(name))
  const body = {
    read: source.read.bind(source),
    pause: () => {},
    resume: () => {},
    cancel: () => {
      isCancelled = true
    },
  }
  return { status, headers: [['name', name]], body, trailers: () => [], isCancelled: () => isCancelled }
}

function nameOf({ headers }: UpstreamAnswer): string {
  return headers[0]?.[1] ?? ''
}

/** A replica between an API server and what is kept, both played here. */
function world(state: ReachName) {
  const clock = new ManualClock()
  const listeners = new Set<(now: Reachability) => void>()
  const calls: string[] = []
  const now = (): Reachability => ({ state, sinceMs: 0, changedMs: 0, why: 'no link', refusedBy: undefined })
  const ways = { online: deferred(), offline: () => Promise.resolve(answer('kept')) }
  const reach = {
    get now() {
      return now()
    },
    answered: () => calls.push('answered'),
    failed: () => calls.push('failed'),
    doubt: () => calls.push('doubt'),
    nodeRejected: () => calls.push('rejected'),
    confirm: () => Promise.resolve(state),
    onChange: (listener: (now: Reachability) => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const become = (next: ReachName): void => {
    state = next
    for (const listener of [...listeners]) listener(now())
  }
  const replica = new Replica({
    node: 'edge-1',
    statuses: {} as never,
    reach,
    online: { answer: () => ways.online.promise, written: (_request: unknown, answer: unknown) => answer } as never,
    offline: { answer: () => ways.offline(), document: () => ways.offline() } as never,
    documents: new Documents(),
    tokens: new TokenAnswers({ isPodThere: () => true }),
    clock,
  })
  return { clock, replica, ways, become, calls, listeners }
}

function request(method: string, target: string, changes: Partial<ReplicaRequest> = {}): ReplicaRequest {
  const [path = '', query = ''] = target.split('?')
  const headers = { get: () => undefined, all: () => [], names: () => [][Symbol.iterator]() }
  return {
    method,
    info: parseRequestInfo({ method, path, query }),
    query: parseQuery(query),
    headers: headers as never,
    reader: { kind: 'node', pool: 'node', token: undefined, tokenHash: '' },
    signal: new AbortController().signal,
    readBody: () => Promise.resolve(Buffer.alloc(0)),
    up: () => Promise.resolve(answer('up')),
    ...changes,
  }
}

const pods = '/api/v1/namespaces/default/pods'
const podList = parseRequestInfo({ method: 'GET', path: pods }) as ResourceRequest
const tokenPath = '/api/v1/namespaces/default/serviceaccounts/default/token'

describe('the replica', () => {
  it('answers from what is kept while it is offline, and refuses writes at once', async () => {
    const { replica, become } = world('online')
    become('online')
    become('offline')
    expect(nameOf(await replica.answer(request('GET', pods)))).toBe('kept')
    const isUp = { value: false }
    const up = (): Promise<UpstreamAnswer> => {
      isUp.value = true
      return Promise.resolve(answer('up'))
    }
    await expect(replica.answer(request('POST', pods, { up }))).rejects.toMatchObject({
      code: 503,
      retryAfterSeconds: 1,
    })
    expect(isUp.value).toBe(false)
  })

  it('tries the API server before it was ever reached, for what is not kept and for writes', async () => {
    const { replica, ways } = world('offline')
    expect(nameOf(await replica.answer(request('GET', pods)))).toBe('kept')
    ways.offline = () => Promise.reject(serviceUnavailable('nothing is known', 1))
    ways.online.settle(answer('up'))
    expect(nameOf(await replica.answer(request('GET', pods)))).toBe('up')
    expect(nameOf(await replica.answer(request('POST', pods)))).toBe('up')
  })

  it.each([
    ['a token that only the API server knows', unauthorized('who are you?')],
    ['a right that may have been given since', accessDenied('jane', podList)],
  ])('asks the API server before it was ever reached about %s', async (_what, refusal) => {
    const { replica, ways, become } = world('offline')
    ways.offline = () => Promise.reject(refusal)
    ways.online.settle(answer('up'))
    expect(nameOf(await replica.answer(request('GET', pods)))).toBe('up')
    become('online')
    become('offline')
    await expect(replica.answer(request('GET', pods))).rejects.toBe(refusal)
  })

  it('does not wait in a black hole: doubts after a while, and goes by what is kept once it is known', async () => {
    const { replica, ways, become, calls, clock, listeners } = world('online')
    become('online')
    const before = listeners.size
    const answering = replica.answer(request('GET', pods))
    await clock.advance(SLOW_ANSWER_MS)
    expect(calls).toEqual(['doubt'])
    become('offline')
    expect(nameOf(await answering)).toBe('kept')
    const late = answer('late')
    ways.online.settle(late)
    await ways.online.promise
    await Promise.resolve()
    expect(late.isCancelled()).toBe(true)
    expect(listeners.size).toBe(before)
    expect(clock.pending).toBe(0)
  })

  it('passes on what failed where the API server is there for others, and goes by what is kept where it is not', async () => {
    const failure = new UpstreamError('broken', 'the connection is gone')
    const there = world('online')
    there.ways.online.fail(failure)
    await expect(there.replica.answer(request('GET', pods))).rejects.toBe(failure)
    const away = world('online')
    const answering = away.replica.answer(request('GET', pods))
    away.ways.online.fail(failure)
    away.become('offline')
    expect(nameOf(await answering)).toBe('kept')
  })

  it('serves nothing of what is kept where the node is refused', async () => {
    const { replica, ways } = world('refused')
    ways.online.fail(new UpstreamError('broken', 'refused'))
    await expect(replica.answer(request('GET', pods))).rejects.toThrow('refused')
  })

  it('lets go of an answer that comes after its client has gone', async () => {
    const { replica, ways } = world('online')
    const gone = new AbortController()
    const answering = replica.answer(request('GET', pods, { signal: gone.signal }))
    gone.abort(new Error('the client has gone'))
    await expect(answering).rejects.toThrow('the client has gone')
    const late = answer('late')
    ways.online.settle(late)
    await ways.online.promise
    await Promise.resolve()
    expect(late.isCancelled()).toBe(true)
  })

  it('reads a request once, whichever way it is answered in the end', async () => {
    const { replica, become } = world('online')
    become('online')
    let reads = 0
    const readBody = (): Promise<Buffer> => {
      reads += 1
      return Promise.resolve(Buffer.from('{"spec":{"audiences":[]}}'))
    }
    const up = (): Promise<UpstreamAnswer> => Promise.reject(new UpstreamError('broken', 'the connection is gone'))
    const answering = replica.answer(request('POST', tokenPath, { readBody, up }))
    become('offline')
    await expect(answering).rejects.toThrow('no token like this was asked for before')
    expect(reads).toBe(1)
  })
})
