import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { KubeClient } from '../../kube/client/client.ts'
import { configMaps } from '../../kube/client/kinds.ts'
import type { TransportRequest, TransportResponse } from '../../kube/client/transport.ts'
import type { ConfigMap } from '../../kube/client/types.ts'
import { isConflict, isNotFound } from '../../kube/status/predicates.ts'
import { systemClock } from '../../runtime/clock.ts'
import { changeShared, createIfAbsent, createOrChange, MAX_WRITE_ROUNDS, removeUnchanged } from './shared-object.ts'

const random = { bytes: (count: number) => Buffer.alloc(count), fraction: () => 0 }
const writing = { clock: systemClock, random }
const object: ConfigMap = { metadata: { name: 'a', namespace: 'n' }, data: { by: 'us' } }
const theirs = (version: string): ConfigMap => ({
  ...object,
  metadata: { ...object.metadata, uid: 'u', resourceVersion: version },
  data: { by: 'them' },
})

type Answer = [status: number, body?: object]

/** Plays answers in order, the last one for ever, and keeps what was asked. */
function client(...answers: Answer[]) {
  const asked: string[] = []
  const sent: ConfigMap[] = []
  const request = ({ method, body }: TransportRequest): Promise<TransportResponse> => {
    asked.push(method)
    if (body instanceof Uint8Array) sent.push(JSON.parse(Buffer.from(body).toString()) as ConfigMap)
    const [status, answer = {}] = (answers.length > 1 ? answers.shift() : answers[0]) ?? [500]
    const reason = { 404: 'NotFound', 409: asked.at(-1) === 'POST' ? 'AlreadyExists' : 'Conflict' }[status]
    const failed = { apiVersion: 'v1', kind: 'Status', status: 'Failure', code: status, reason }
    const found = { apiVersion: 'v1', kind: 'ConfigMap', ...answer }
    const bytes = Buffer.from(JSON.stringify(status >= 400 ? failed : found))
    return Promise.resolve({ status, headers: { 'content-type': 'application/json' }, body: Readable.from([bytes]) })
  }
  const transport = { request, upgrade: () => Promise.reject(new Error()), close: () => Promise.resolve() }
  const connection = {
    source: 'test',
    server: 'https://api',
    namespace: 'n',
    tls: { skipVerify: false },
    credentials: { type: 'anonymous' },
  } as const
  const maps = new KubeClient(connection, { transport }).resource(configMaps).in('n')
  return { maps, asked, sent }
}

describe('creating if absent', () => {
  const make = () => Promise.resolve(object)

  it('makes nothing where something is', async () => {
    const { maps, asked } = client([200, theirs('1')])
    await expect(createIfAbsent(maps, 'a', make)).resolves.toMatchObject({ data: { by: 'them' } })
    expect(asked).toEqual(['GET'])
  })
  it('takes the one of who was faster', async () => {
    const { maps, asked } = client([404], [409], [200, theirs('1')])
    await expect(createIfAbsent(maps, 'a', make)).resolves.toMatchObject({ data: { by: 'them' } })
    expect(asked).toEqual(['GET', 'POST', 'GET'])
  })
  it('does not take a missing namespace for a lost race', async () => {
    const { maps } = client([404])
    await expect(createIfAbsent(maps, 'a', make)).rejects.toSatisfy(isNotFound)
  })
})

describe('changing what is shared', () => {
  it('asks again with what is there after each lost race', async () => {
    const { maps, asked } = client([404], [409], [200, theirs('1')], [409], [404], [200, theirs('9')])
    const seen: (string | undefined)[] = []
    const change = (present: ConfigMap | undefined): ConfigMap => {
      seen.push(present?.metadata?.resourceVersion)
      return object
    }
    await changeShared(maps, 'a', change, writing)
    expect(seen).toEqual([undefined, '1', undefined])
    expect(asked).toEqual(['GET', 'POST', 'GET', 'PUT', 'GET', 'POST'])
  })
  it('replaces exactly what it has seen', async () => {
    const { maps, sent } = client([200, theirs('7')], [200, theirs('8')])
    await changeShared(maps, 'a', () => object, writing)
    expect(sent).toMatchObject([{ metadata: { name: 'a', uid: 'u', resourceVersion: '7' }, data: { by: 'us' } }])
  })
  it('starts anew when the object is deleted while it is changed', async () => {
    const { maps, asked } = client([200, theirs('1')], [404], [404], [200, object])
    await changeShared(maps, 'a', () => object, writing)
    expect(asked).toEqual(['GET', 'PUT', 'GET', 'POST'])
  })
  it('gives up after so many rounds', async () => {
    const { maps, asked } = client(
      ...Array.from({ length: 200 }, (_, index): Answer => (index % 2 === 0 ? [200, theirs('1')] : [409])),
    )
    await expect(changeShared(maps, 'a', () => object, writing)).rejects.toSatisfy(isConflict)
    expect(asked).toHaveLength(2 * MAX_WRITE_ROUNDS)
  })
  it('does not repeat what failed for another reason', async () => {
    const { maps, asked } = client([200, theirs('1')], [500])
    await expect(changeShared(maps, 'a', () => object, writing)).rejects.toThrow()
    expect(asked).toEqual(['GET', 'PUT'])
  })
})

describe('removing', () => {
  it('removes exactly what it has seen', async () => {
    const { maps, sent } = client([200, {}])
    await expect(removeUnchanged(maps, theirs('7'))).resolves.toBe(true)
    expect(sent).toMatchObject([{ preconditions: { uid: 'u', resourceVersion: '7' } }])
  })
  it.each([404, 409])('leaves to others what they have changed (%i)', async (status) => {
    await expect(removeUnchanged(client([status]).maps, theirs('7'))).resolves.toBe(false)
  })
  it('does not hide that it failed', async () => {
    await expect(removeUnchanged(client([500]).maps, theirs('7'))).rejects.toThrow()
  })
})

describe('changing what is probably not there', () => {
  const add = (present: ConfigMap | undefined) => ({ ...object, data: { after: present?.data?.['by'] ?? 'nothing' } })

  it('takes one request if it is not there', async () => {
    const { maps, asked, sent } = client([201, object])
    await createOrChange(maps, 'a', add, writing)
    expect(asked).toEqual(['POST'])
    expect(sent).toMatchObject([{ data: { after: 'nothing' } }])
  })

  it('thinks again by what is there', async () => {
    const { maps, asked, sent } = client([409], [200, theirs('1')], [200, object])
    await createOrChange(maps, 'a', add, writing)
    expect(asked).toEqual(['POST', 'GET', 'PUT'])
    expect(sent.at(-1)).toMatchObject({ metadata: { resourceVersion: '1' }, data: { after: 'them' } })
  })

  it('refuses nothing before it has looked', async () => {
    const { maps, asked } = client([200, theirs('1')])
    const change = (present: ConfigMap | undefined): ConfigMap | undefined => {
      if (present === undefined) throw new Error('there must be one')
      return undefined
    }
    await expect(createOrChange(maps, 'a', change, writing)).resolves.toMatchObject({ data: { by: 'them' } })
    const absent = client([404])
    await expect(createOrChange(absent.maps, 'a', change, writing)).rejects.toThrow('there must be one')
    expect([asked, absent.asked]).toEqual([['GET'], ['GET']])
  })

  it('passes on every other failure', async () => {
    const { maps, asked } = client([404])
    await expect(createOrChange(maps, 'a', add, writing)).rejects.toSatisfy(isNotFound)
    expect(asked).toEqual(['POST'])
  })
})
