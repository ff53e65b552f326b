/** Root on one edge, with the credential of its node, against the control plane: everything else stays as it was. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../src/kube/index.ts'
import { type AttackedServer, attackedServer } from './apiserver-world.ts'
import { type Attack, TEAM } from './node-attack.ts'
import { nodeAttacks, WORLD } from './node-attacks.ts'
import { CSRS, signingRequests } from './node-attacks-certificates.ts'

const token = 'token-of-the-node'
/** What belongs to others. */
const others = [
  '/api/v1/nodes/edge-2',
  `${TEAM}/pods/theirs`,
  `${TEAM}/pods/free`,
  ...['secrets', 'configmaps', 'persistentvolumeclaims'].flatMap((kind) => [
    `${TEAM}/${kind}/theirs`,
    `${TEAM}/${kind}/unused`,
  ]),
  `${TEAM}/secrets/mine`,
  `${TEAM}/serviceaccounts/app`,
  '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/edge-2',
  '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler',
  '/apis/storage.k8s.io/v1/csinodes/edge-2',
  `${CSRS}/made`,
]

let server: AttackedServer
let attacks: readonly Attack[]
let before: readonly KubeObject[]

beforeAll(async () => {
  server = await attackedServer(`${token},system:node:edge-1,,"system:nodes"\n`)
  const requests = await signingRequests()
  for (const [path, object] of WORLD) await server.create(path, object)
  const usages = ['digital signature', 'client auth']
  const spec = { request: requests.own, signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages }
  await server.create(CSRS, { metadata: { name: 'made' }, spec })
  const uidOf = async (path: string): Promise<string> => (await server.read(path)).metadata?.uid ?? ''
  const facts = {
    nodeUid: await uidOf('/api/v1/nodes/edge-1'),
    otherNodeUid: await uidOf('/api/v1/nodes/edge-2'),
    podUid: await uidOf(`${TEAM}/pods/mine`),
    otherPodUid: await uidOf(`${TEAM}/pods/theirs`),
  }
  attacks = nodeAttacks(facts, requests)
  before = await Promise.all(others.map((path) => server.read(path)))
})

afterAll(() => server.stop())

async function attempt({ method, target, body, type, headers = [] }: Attack): Promise<number> {
  const given = { ...(body === undefined ? {} : { body }), ...(type === undefined ? {} : { type }) }
  return (await server.ask(method, target, { token, headers: Object.fromEntries(headers), ...given })).status
}

describe('root on one edge', () => {
  it('does what a node may, and is refused everything else', async () => {
    const wrong: string[] = []
    for (const attack of attacks) {
      const status = await attempt(attack)
      const isRefused = status >= 400
      if (isRefused === (attack.isAllowed === true)) wrong.push(`${status}: ${attack.what}`)
    }
    expect(attacks.length).toBeGreaterThan(200)
    expect(wrong).toEqual([])
  })

  it('has changed nothing that belongs to others', async () => {
    expect(await Promise.all(others.map((path) => server.read(path)))).toEqual(before)
  })

  it('can be told to read its own alone by a name that means others', async () => {
    const target = '/api/v1/pods?fieldSelector=spec.nodeName%3Dedge-1&fieldSelector=spec.nodeName%3Dedge-2'
    const { text } = await server.ask('GET', target, { token })
    expect(text).not.toContain('theirs')
  })
})
