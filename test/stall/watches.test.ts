import { once } from 'node:events'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { expectShortTurns, expectShortTurnsDuring, recordedTurn } from './limit.ts'
import { MeteredServer } from './metered-server.ts'
import { record } from './record.ts'
import { type Seed, seedStore } from './seed-store.ts'
import { coreSeed, many, mapOf, namespaceSeed } from './seeds.ts'

const sessions = 5
const watchesPerSession = 200
const server = new MeteredServer()

beforeAll(async () => {
  await seedStore(server.folder, seeds())
  await server.start()
})
afterAll(() => server.stop())

const maps = '/api/v1/namespaces/watched/configmaps'

function* seeds(): Generator<Seed> {
  yield namespaceSeed('watched')
  // As many labels as there are terms, and each of them is asked about.
  const labels = mapOf(1_000, 'a', 'b')
  yield coreSeed('configmaps', 'ConfigMap', 'watched', { name: 'labelled', labels }, { data: { a: 'b' } })
}

interface Watches {
  readonly open: number
  readonly bytes: number
  close(): void
}

/** Each of them over a shared connection. */
async function watch(selector: string): Promise<Watches> {
  const state = { open: 0, bytes: 0, closers: [] as (() => void)[] }
  for (let index = 0; index < sessions; index++) {
    const { session, headers } = await server.session()
    state.closers.push(() => session.destroy())
    for (let each = 0; each < watchesPerSession; each++) {
      const stream = session.request({ ...headers, ':path': `${maps}?watch=true&${selector}` })
      stream.on('response', ({ ':status': status }) => {
        if (status === 200) state.open++
      })
      stream.on('data', (chunk: Buffer) => {
        state.bytes += chunk.length
      })
      stream.on('error', () => {})
    }
  }
  await vi.waitFor(() => expect(state.open).toBe(sessions * watchesPerSession), { timeout: 120_000 })
  return {
    get open() {
      return state.open
    },
    get bytes() {
      return state.bytes
    },
    close() {
      for (const close of state.closers) close()
    },
  }
}

it('a thousand watches of a thousand terms that are opened at once stall nobody', async () => {
  const selector = `labelSelector=${many(1_000, (index) => `!x${index}`).join()}`
  const name = 'a thousand watches of a thousand terms, opened at once'
  const { longestTurnMs } = await expectShortTurnsDuring(server, name, async () => (await watch(selector)).close())
  const sent = { method: 'GET', path: `${maps}?watch=true&${selector}` }
  record({ [name]: recordedTurn(sent, { status: 200, answer: '', answerBytes: 0, longestTurnMs }) })
})

it.each([
  ['labels that nothing has', `labelSelector=${many(1_000, (index) => `!x${index}`).join()}`],
  ['values that a label must not have', `labelSelector=${many(1_000, (index) => `a0!=v${index}`).join()}`],
  ['labels that one object has', `labelSelector=${many(1_000, (index) => `a${index}=b`).join()}`],
  ['names', `fieldSelector=${many(1_000, (index) => `metadata.name!=v${index}`).join()}`],
])('a change among a thousand watches of a thousand %s stalls nobody', async (name, selector) => {
  const watches = await watch(selector)
  const headers = { 'content-type': 'application/merge-patch+json' }
  for (let index = 0; index < 3; index++) {
    const body = JSON.stringify({ data: { a: `${name} ${index}` } })
    const patch = { method: 'PATCH', path: `${maps}/labelled`, headers, body }
    const before = watches.bytes
    const measured = await expectShortTurns(server, name, patch)
    record({ [`a change among watches of ${name}`]: recordedTurn(patch, measured) })
    expect(measured.status).toBe(200)
    await vi.waitFor(() => expect(watches.bytes).toBeGreaterThan(before))
  }
  // What was said to them since: the last of it is still on its way when the patch is answered.
  const path = '/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=3'
  await expectShortTurns(server, `${name}, what follows`, { method: 'GET', path })
  watches.close()
})

it('watches of four hundred new tokens that are opened at once stall nobody', async () => {
  const name = 'watches of four hundred new tokens'
  const post = (path: string, body: object) => server.ask({ method: 'POST', path, body: JSON.stringify(body) })
  const accounts = '/api/v1/namespaces/watched/serviceaccounts'
  await post(accounts, { metadata: { name: 'new' } })
  const subjects = [{ kind: 'ServiceAccount', name: 'new', namespace: 'watched' }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' }
  await post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { metadata: { name: 'new' }, roleRef, subjects })
  const newTokens = async (): Promise<string[]> => {
    const tokens: string[] = []
    while (tokens.length < 400) {
      const { answer } = await post(`${accounts}/new/token`, { spec: {} })
      tokens.push((JSON.parse(answer) as { status: { token: string } }).status.token)
    }
    return tokens
  }
  const batches = [await newTokens(), await newTokens(), await newTokens()]
  const path = `${maps}?watch=true&labelSelector=${many(1_000, (index) => `!x${index}`).join()}`
  const { longestTurnMs } = await expectShortTurnsDuring(server, name, async () => {
    const [{ session: first }, { session: second }] = [await server.session(), await server.session()]
    const tokens = batches.pop() ?? []
    const opened = tokens.map(async (token, index) => {
      const stream = (index % 2 === 0 ? first : second).request({ ':path': path, authorization: `Bearer ${token}` })
      const [head] = await once(
        stream.on('error', () => {}),
        'response',
      )
      return Number(head[':status'])
    })
    expect(new Set(await Promise.all(opened))).toEqual(new Set([200]))
    for (const session of [first, second]) session.destroy()
  })
  record({ [name]: { requestBytes: path.length, status: 200, longestTurnMs } })
})
