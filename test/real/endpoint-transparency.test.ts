/**
 * The same requests at a real kube-apiserver and at the endpoint of an edge: whatever a client can see of the answers is
 * the same, byte for byte.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  type Answer,
  type ClientOptions,
  type Question,
  TransparencyClient,
  type Version,
} from './endpoint-transparency-client.ts'
import { EndpointWorld } from './endpoint-transparency-edge.ts'
import { prepareFixtures } from './endpoint-transparency-fixtures.ts'
import { readsOfAccount, readsOfNobody, readsOfNode, taggedDocuments } from './endpoint-transparency-reads.ts'
import { storyOfAccount, storyOfNode, TOO_LARGE, withoutInventions } from './endpoint-transparency-writes.ts'
import { describeReal } from './harness.ts'

type Credentials = Pick<ClientOptions, 'token' | 'certificate'>

/** Different for each request, or a matter of one connection. */
const ofOneRequest = new Set([
  'audit-id',
  'connection',
  'content-length',
  'date',
  'keep-alive',
  // Of the index of OpenAPI, which is made anew for each reader.
  'last-modified',
  'transfer-encoding',
])

describeReal('a client at the endpoint sees what it sees at the API server', () => {
  let world: EndpointWorld
  let token: string
  let version: string

  beforeAll(async () => {
    world = await EndpointWorld.start({ apiServerFlags: ['--feature-gates=CBORServingAndStorage=true'] })
    ;({ token, version } = await prepareFixtures(world.plane))
    // As API servers do every few minutes.
    const body = JSON.stringify({ revision: 100 })
    expect((await fetch(`${world.plane.etcd}/v3/kv/compaction`, { method: 'POST', body })).status).toBe(200)
  })
  afterAll(async () => {
    await world?.stop()
  })

  function clients(http: Version, credentials: Credentials): [TransparencyClient, TransparencyClient] {
    const ca = readFileSync(world.plane.caFile, 'utf8')
    const client = (server: string): TransparencyClient =>
      new TransparencyClient({ server, ca, version: http, ...credentials })
    const both: [TransparencyClient, TransparencyClient] = [client(world.plane.server), client(world.endpoint)]
    onTestFinished(() => {
      for (const one of both) one.close()
    })
    return both
  }

  /** Returns what kinds of answers there were, so that none of them goes unseen. */
  async function compareReads(
    http: Version,
    credentials: Credentials,
    questions: readonly Question[],
  ): Promise<ReadonlySet<string>> {
    const [direct, through] = clients(http, credentials)
    const kinds = new Set<string>()
    for (const question of questions) {
      const [expected, answer] = await Promise.all([direct.ask(question), through.ask(question)])
      const rewrite = isTable(question) ? withoutAges : unchanged
      expect.soft(seen(answer, rewrite), JSON.stringify(question)).toEqual(seen(expected, rewrite))
      for (const kind of kindsOf(expected)) kinds.add(kind)
    }
    return kinds
  }

  /** The first way tells the whole story before the second begins. */
  async function compareStories(
    http: Version,
    credentials: Credentials,
    storyIn: (namespace: string) => readonly Question[],
  ): Promise<ReadonlySet<string>> {
    const [direct, through] = clients(http, credentials)
    const [here, there] = [`way-one-${http.at(-1)}`, `way-two-${http.at(-1)}`]
    const answers: Answer[] = []
    for (const question of storyIn(here)) answers.push(await direct.ask(question))
    for (const [index, question] of storyIn(there).entries()) {
      const expected = seen(answers[index] as Answer, (text) => withoutInventions(text, here))
      const answer = seen(await through.ask(question), (text) => withoutInventions(text, there))
      expect.soft(answer, JSON.stringify(question).slice(0, 200)).toEqual(expected)
    }
    return new Set(answers.flatMap(kindsOf))
  }

  describe.each<Version>(['1.1', '2'])('over HTTP/%s', (http) => {
    it('reading with a token', async () => {
      const kinds = await compareReads(http, { token }, readsOfAccount(version))
      expect([...kinds].toSorted()).toEqual([
        '',
        '200',
        '301',
        '400',
        '403',
        '404',
        '405',
        '406',
        '410',
        '503',
        'application/cbor',
        'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
        'application/com.github.proto-openapi.spec.v3.v1.0+protobuf',
        'application/json',
        'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
        'application/jwk-set+json',
        'application/vnd.kubernetes.protobuf',
        'application/yaml',
        'gzip',
        'text/plain; charset=utf-8',
        'warning',
      ])
    })

    it('reading as the node', async () => {
      const kinds = await compareReads(http, { certificate: world.nodeCertificate() }, readsOfNode(version))
      expect([...kinds].toSorted()).toEqual([
        '',
        '200',
        '403',
        '406',
        'application/cbor',
        'application/json',
        'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
        'application/vnd.kubernetes.protobuf',
        'application/yaml',
      ])
    })

    it('reading as nobody', async () => {
      const kinds = await compareReads(http, {}, readsOfNobody)
      expect([...kinds].toSorted()).toEqual(['', '200', '401', '403', 'application/json', 'text/plain; charset=utf-8'])
    })

    it('asking whether a document has changed', async () => {
      const [direct, through] = clients(http, { token })
      for (const question of taggedDocuments) {
        const etag = headerOf(await direct.ask(question), 'etag')
        const again = { ...question, headers: { ...question.headers, 'if-none-match': etag } }
        const answer = await direct.ask(again)
        expect(answer.status, question.path).toBe(304)
        expect(seen(await through.ask(again)), question.path).toEqual(seen(answer))
      }
    })

    it('reading page by page', async () => {
      const [direct, through] = clients(http, { token })
      let next = ''
      for (let page = 0; page < 4; page++) {
        const question = { path: `/api/v1/namespaces/shared/configmaps?limit=40${next}` }
        const [expected, answer] = await Promise.all([direct.ask(question), through.ask(question)])
        expect(seen(answer, withoutInventions)).toEqual(seen(expected, withoutInventions))
        const { metadata } = JSON.parse(answer.body.toString()) as { metadata: { continue?: string } }
        next = `&continue=${metadata.continue}`
      }
    })

    it('writing with a token', async () => {
      const kinds = await compareStories(http, { token }, storyOfAccount)
      expect([...kinds].toSorted()).toEqual([
        '',
        '200',
        '201',
        '400',
        '404',
        '409',
        '415',
        '422',
        'application/json',
        'application/yaml',
        'gzip',
        'warning',
      ])
    })

    it('writing as the node', async () => {
      const kinds = await compareStories(http, { certificate: world.nodeCertificate() }, storyOfNode)
      expect([...kinds].toSorted()).toEqual(['', '200', '201', '403', '422', 'application/json'])
    })

    it('writing too much', async () => {
      const [direct, through] = clients(http, { token })
      const answer = await direct.ask(TOO_LARGE)
      expect(answer.status).toBe(413)
      expect(seen(await through.ask(TOO_LARGE))).toEqual(seen(answer))
    })
  })
}, ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])

function headerOf({ headers }: Answer, wanted: string): string {
  return headers.find(([name]) => name === wanted)?.[1] ?? ''
}

function kindsOf(answer: Answer): string[] {
  const warning = headerOf(answer, 'warning') === '' ? '' : 'warning'
  return [String(answer.status), headerOf(answer, 'content-type'), headerOf(answer, 'content-encoding'), warning]
}

function isTable({ headers = {} }: Question): boolean {
  return String(headers['accept']).includes('as=Table')
}

function withoutAges(text: string): string {
  return text.replaceAll(/"(\d+[dhms])+"/g, 'AGE')
}

function unchanged(text: string): string {
  return text
}

/** What a client sees; compressed bodies as they are, unless something in them is to be rewritten. */
function seen(answer: Answer, rewrite = unchanged): object {
  const { status, headers, body } = answer
  const length = headerOf(answer, 'content-length')
  const isPacked = headerOf(answer, 'content-encoding') === 'gzip' && rewrite !== unchanged
  // The keys of CBOR come in another order each time.
  const isOrdered = headerOf(answer, 'content-type') !== 'application/cbor'
  const bytes = isPacked ? gunzipSync(body) : isOrdered ? body : Buffer.from(body.toSorted())
  return {
    status,
    headers: headers.filter(([name]) => !ofOneRequest.has(name)),
    body: rewrite(bytes.toString('latin1')),
    isWhole: length === '' || length === String(body.length),
  }
}
