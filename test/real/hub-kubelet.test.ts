/** A real kubelet beside a hub: its own requests for certificates are none of the hub's business, though the names agree. */

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type CertificateSigningRequest, certificateSigningRequests, secrets } from '../../src/kube/index.ts'
import type { RunningHub } from '../e2e/hub-cluster.ts'
import { describeReal, kubectl } from './harness.ts'
import { type HubPlane, startHubPlane } from './hub-plane.ts'
import { missingForNode, type RealNode, startNode } from './node.ts'

const nodeName = 'edge-1'
const bootstrapUser = 'system:bootstrap:abcdef'
const patience = { timeout: 120_000, interval: 200 }

describeReal(
  'a kubelet beside a hub',
  () => {
    let world: HubPlane
    let hub: RunningHub
    let node: RealNode | undefined

    beforeAll(async () => {
      world = await startHubPlane('--enable-bootstrap-token-auth=true')
      const { cluster, plane } = world
      hub = await cluster.hub('hub', '--log-level', 'debug')
      await cluster.join(nodeName, hub.url, await cluster.token('token', { node: nodeName }))
      await cluster.client
        .resource(secrets)
        .in('kube-system')
        .create({
          metadata: { name: 'bootstrap-token-abcdef' },
          type: 'bootstrap.kubernetes.io/token',
          stringData: {
            'token-id': 'abcdef',
            'token-secret': '0123456789abcdef',
            'usage-bootstrap-authentication': 'true',
          },
        })
      const role = '--clusterrole=system:node-bootstrapper'
      await kubectl(plane, ['create', 'clusterrolebinding', 'join', role, '--group=system:bootstrappers'])
      const caPem = readFileSync(plane.caFile, 'utf8')
      node = await startNode({ name: nodeName, server: plane.server, caPem, bootstrapToken: 'abcdef.0123456789abcdef' })
    })
    afterAll(async () => {
      await node?.stop()
      await world?.stop()
    })

    /** The first request of that user. */
    async function requestOf(user: string): Promise<CertificateSigningRequest> {
      return await vi.waitFor(async () => {
        const { items } = await world.cluster.client.resource(certificateSigningRequests).list()
        const found = items.find(({ spec }) => spec?.username === user)
        if (found === undefined) throw new Error(`${user} has asked for nothing yet`)
        return found
      }, patience)
    }

    /** What the hub thinks of the very next request tells that it has seen this one. */
    async function untouched({ metadata }: CertificateSigningRequest): Promise<void> {
      const requests = world.cluster.client.resource(certificateSigningRequests)
      const after = `after-${metadata?.name}`
      const { spec } = await requests.get(metadata?.name ?? '')
      const { request, signerName, usages } = spec ?? {}
      const labels = { 'causeway.io/node-certificate': 'client' }
      const imitation = { metadata: { name: after, labels }, spec: { request, signerName, usages } }
      await requests.create(imitation as CertificateSigningRequest)
      await hub.process.logged(after)
      expect((await requests.get(metadata?.name ?? '')).status).toEqual({})
      expect(hub.process.stderr).not.toContain(`"${metadata?.name}"`)
    }

    it('asks for its first certificate and for that of its server, and the hub touches neither', async () => {
      const first = await requestOf(bootstrapUser)
      expect(first.spec).toMatchObject({ signerName: 'kubernetes.io/kube-apiserver-client-kubelet' })
      await untouched(first)
      await kubectl(world.plane, ['certificate', 'approve', first.metadata?.name ?? ''])
      const second = await requestOf(`system:node:${nodeName}`)
      expect(second.spec).toMatchObject({ signerName: 'kubernetes.io/kubelet-serving' })
      await untouched(second)
    })
  },
  ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl', 'kubelet'],
  missingForNode(),
)
