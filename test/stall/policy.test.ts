import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectShortTurns, expectShortTurnsDuring, recordedTurn } from './limit.ts'
import { MeteredServer } from './metered-server.ts'
import { longest, type RecordedTurn, record } from './record.ts'
import { type Seed, seedStore } from './seed-store.ts'
import { bindingSeed, many, namespaceSeed, RBAC_GROUP, roleSeed } from './seeds.ts'

/** Each holds another policy of the worst shape in the namespace of the same name, and may write roles there. */
const holders = ['wide', 'names', 'rules', 'bound', 'texts', 'lost'] as const
/** As many as one connection carries with ease. */
const crowd = 120
const server = new MeteredServer()

beforeAll(async () => {
  await seedStore(server.folder, seeds())
  await server.start()
})
afterAll(() => server.stop())

const verbs = many(100, (index) => `v${index}`)
const names = many(45_000, (index) => `n${index}`)
const rule = (resource: string, more: object = {}): object => ({
  verbs: ['get'],
  apiGroups: [''],
  resources: [resource],
  ...more,
})

function* seeds(): Generator<Seed> {
  for (const name of holders) {
    yield namespaceSeed(name)
    yield roleSeed(name, 'author', [
      { verbs: ['create'], apiGroups: [RBAC_GROUP], resources: ['roles', 'rolebindings'] },
    ])
    yield bindingSeed(name, 'author', 'author', name)
  }
  const held: Record<(typeof holders)[number], object[][]> = {
    wide: many(3, () => many(450, () => rule('pods', { verbs }))),
    names: [[rule('pods', { resourceNames: names })]],
    rules: many(20, (role) => many(300, (index) => rule('pods', { resourceNames: [`z${role}-${index}`] }))),
    bound: many(5_000, (role) => many(31, (index) => rule(`r${role}-${index}`))),
    texts: many(20, () => many(300, (index) => rule('pods', { verbs: many(140, (verb) => `v${index}-${verb}`) }))),
    lost: [],
  }
  for (const name of holders) {
    for (const [index, rules] of held[name].entries()) {
      yield roleSeed(name, `r${index}`, rules)
      yield bindingSeed(name, `r${index}`, `r${index}`, name)
    }
  }
  for (let index = 0; index < 50_000; index++) {
    // One role that is bound over and over, and others that have gone.
    yield bindingSeed('bound', `b${index}`, 'r0', 'bound')
    yield bindingSeed('lost', `b${index}`, `${'long-name-'.repeat(20)}${index}`, 'lost')
  }
}

function roles(namespace: string): string {
  return `/apis/${RBAC_GROUP}/v1/namespaces/${namespace}/roles?dryRun=All`
}

describe('a role is held against the rules of its author', () => {
  const q = many(99, (index) => `q${index}`)
  it.each<[string, (typeof holders)[number], object[]]>([
    ['rules of long lists', 'wide', many(450, () => rule('pods', { verbs: verbs.toReversed(), apiGroups: ['x'] }))],
    ['45,000 names in reverse', 'names', [rule('pods', { resourceNames: [...names.toReversed(), 'another'] })]],
    ['products of its lists', 'rules', [rule('pods', { apiGroups: ['x'], resources: q, resourceNames: q })]],
    ['products of held resources', 'rules', [rule('pods', { verbs: q, resourceNames: q })]],
    ['rules in thousands of bindings', 'bound', many(200, (index) => rule(`x${index}`))],
    ['roles that have gone', 'lost', many(200, (index) => rule(`x${index}`))],
    ['a long group times many', 'lost', [rule('pods', { apiGroups: ['x'.repeat(1_000_000)], resources: q, verbs: q })]],
    ['many verbs of one resource', 'lost', [rule('pods', { verbs: many(10_000, (index) => `v${index}`) })]],
    ['rules of many values', 'texts', many(150, (index) => rule('pods', { verbs: [`v1-${index}`, 'x'] }))],
  ])('with %s and stalls nobody', async (name, user, rules) => {
    const headers = { 'impersonate-user': user }
    const body = JSON.stringify({ metadata: { name: 'x' }, rules })
    const sent = { method: 'POST', path: roles(user), headers, body }
    const measured = await expectShortTurns(server, name, sent)
    record({ [`a role with ${name}`]: recordedTurn(sent, measured) })
    expect(measured.answerBytes).toBeLessThan(512 * 1024)
    expect([name, measured.status, measured.answer.slice(0, 200)]).toEqual([name, 403, expect.any(String)])
  })
})

describe.each(holders)('whoever holds many rules, as in %s,', (user) => {
  const headers = { 'impersonate-user': user }

  it('is told of them without stalling anybody', async () => {
    const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'
    const body = JSON.stringify({ spec: { namespace: user } })
    const turns: [string, RecordedTurn][] = []
    for (const accept of ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']) {
      const sent = { method: 'POST', path, headers: { ...headers, accept }, body }
      const measured = await expectShortTurns(server, `rules in ${accept}`, sent)
      turns.push([`the rules of somebody with many, as in ${user}`, recordedTurn(sent, measured)])
      expect(measured.status).toBe(201)
    }
    record(longest(turns))
  })

  it('is refused without stalling anybody', async () => {
    const turns: [string, RecordedTurn][] = []
    for (const resource of ['nodes', 'pods']) {
      const sent = { method: 'DELETE', path: `/api/v1/namespaces/${user}/${resource}/x`, headers }
      const measured = await expectShortTurns(server, 'a refusal', sent)
      turns.push([`a refusal to somebody with many rules, as in ${user}`, recordedTurn(sent, measured)])
      expect(measured.status).toBe(403)
      expect(measured.answerBytes).toBeLessThan(512 * 1024)
    }
    record(longest(turns))
  })
})

it.each(['rules', 'bound'])(`${crowd} questions at once for many rules, as in %s, stall nobody`, async (user) => {
  const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'
  const body = JSON.stringify({ spec: { namespace: user } })
  const sent = { method: 'POST', path, headers: { 'impersonate-user': user }, body }
  const name = `the rules of somebody with many, ${crowd} times at once, as in ${user}`
  const { result, longestTurnMs } = await expectShortTurnsDuring(server, name, () =>
    Promise.all(many(crowd, () => server.ask(sent))),
  )
  const [first] = result
  if (first !== undefined) record({ [name]: recordedTurn(sent, { ...first, longestTurnMs }) })
  for (const { status } of result) expect([201, 429]).toContain(status)
})

describe.each(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'])('in %s', (accept) => {
  it('the answer to a question about 40,000 groups stalls nobody', async () => {
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
    const groups = many(40_000, () => '')
    const body = JSON.stringify({ spec: { groups, user: 'x', nonResourceAttributes: { path: '/x', verb: 'get' } } })
    const sent = { method: 'POST', path, headers: { accept }, body }
    const measured = await expectShortTurns(server, `groups in ${accept}`, sent)
    record({ [`a question about 40,000 groups in ${accept}`]: recordedTurn(sent, measured) })
    expect([measured.status, measured.answer.slice(0, 100)]).toEqual([201, expect.any(String)])
  })

  it('an error of many causes stalls nobody', async () => {
    const rules = many(10_000, () => ({ verbs: [] }))
    const body = JSON.stringify({ metadata: { name: 'x' }, rules })
    const sent = { method: 'POST', path: roles('wide'), headers: { accept }, body }
    const measured = await expectShortTurns(server, `causes in ${accept}`, sent)
    record({ [`an error of many causes in ${accept}`]: recordedTurn(sent, measured) })
    expect(measured.status).toBe(422)
  })
})
