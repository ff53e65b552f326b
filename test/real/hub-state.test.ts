/** What hubs share through a real API server, with the rights of deploy/hub-rbac.yaml and no more. */
import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ClaimStore } from '../../src/hub/claims/claim-store.ts'
import { type OpenCluster, openCluster } from '../../src/hub/cluster/open-cluster.ts'
import { TokenAdministration } from '../../src/hub/cluster/token-administration.ts'
import { readJoinToken } from '../../src/identity/join-token.ts'
import { KubeClient, loadKubeconfig, nodes, secrets } from '../../src/kube/index.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'
import { applyHubRights } from './hub-plane.ts'

const namespace = 'causeway-system'
const logger = pino({ level: 'silent' })
const key = 'ab'.repeat(32)

describeReal('the state of hubs in a real cluster', () => {
  let plane: ControlPlane
  let admin: KubeClient
  const clients: KubeClient[] = []
  beforeAll(async () => {
    plane = await startControlPlane()
    admin = await client()
    await applyHubRights(plane)
  })
  afterAll(async () => {
    await Promise.all(clients.map((one) => one.close()))
    await plane?.stop()
  })

  async function client(user?: string): Promise<KubeClient> {
    const connection = await loadKubeconfig({ file: plane.kubeconfigFile })
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated']
    const impersonation = user === undefined ? {} : { impersonation: { user, groups, extra: {} } }
    const made = new KubeClient({ ...connection, ...impersonation })
    clients.push(made)
    return made
  }

  const hub = async (): Promise<OpenCluster> =>
    await openCluster({
      client: await client(`system:serviceaccount:${namespace}:causeway-hub`),
      clock: systemClock,
      logger,
      addresses: ['hub.example'],
      certificateUseMs: 3_600_000,
    })

  it('is one for five hubs that start at the same instant, again and again', async () => {
    for (let round = 0; round < 5; round++) {
      await admin.resource(secrets).in(namespace).deleteCollection()
      const hubs = await Promise.all(Array.from({ length: 5 }, hub))
      const cas = hubs.map((cluster) => cluster.authority().signing.certificate.fingerprint)
      expect(new Set(cas).size).toBe(1)
      expect(new Set(hubs.map((cluster) => cluster.serverCertificate().certificatePem)).size).toBe(1)
    }
  })

  it('is kept, used and given up with the rights that a hub has', async () => {
    const [one, two] = [await hub(), await hub()]
    const running: RunningPart[] = []
    try {
      for (const { parts } of [one, two])
        for (const part of parts) running.push(await part.start(new AbortController().signal, () => undefined))
      const tokens = new TokenAdministration({ client: admin, namespace, clock: systemClock })
      const { text, id } = await tokens.create({ uses: 1 })
      const claims = await one.tokens.verify(readJoinToken(text).jwt)
      await two.tokens.use(claims, 'edge-1', key)
      await expect(one.tokens.use(claims, 'edge-2', key)).rejects.toMatchObject({ code: 'token-used-up' })
      await tokens.revoke(id)
      await expect(two.tokens.verify(readJoinToken(text).jwt)).rejects.toMatchObject({ code: 'token-revoked' })

      await admin.resource(nodes).create({ metadata: { name: 'control-plane' } })
      await expect(one.nodes.exists('control-plane')).resolves.toBe(true)
      const certificateEndsMs = systemClock.nowMs() + 3_600_000
      await one.claims.byToken({
        node: 'edge-1',
        key,
        token: { id, namesNode: false },
        nodeExists: false,
        certificateEndsMs,
      })
      const heard = new Promise<void>((resolve) => {
        two.claims.onChange((_node, claim) => {
          if (claim?.state === 'released') resolve()
        })
      })
      const options = { client: admin, namespace, clock: systemClock, random: systemRandom, logger }
      await expect(new ClaimStore(options).forget('edge-1')).resolves.toBe(true)
      await heard
      const stolen = { node: 'edge-1', key, notBeforeMs: systemClock.nowMs() - 1_000 }
      await expect(two.claims.byCertificate(stolen)).rejects.toMatchObject({ code: 'certificate-revoked' })
      await expect(one.claims.removeReleased(-3_600_000)).resolves.toBe(1)
    } finally {
      for (const part of running.toReversed()) await part.stop(AbortSignal.abort())
    }
  })
})
