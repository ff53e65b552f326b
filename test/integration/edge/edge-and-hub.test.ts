import { describe, expect, it } from 'vitest'
import { fetchUnverifiedCa, HubClient } from '../../../src/edge/hub/hub-client.ts'
import { parseHubUrls } from '../../../src/edge/hub/hub-url.ts'
import { certificatePem } from '../../../src/identity/certificate.ts'
import { keyFingerprint, privateKeyPem } from '../../../src/identity/keys.ts'
import type { ClientPair } from '../../../src/network/tls/client-tls.ts'
import { type HubWorld, signingRequest, startHub } from '../../worlds/hub-world.ts'

function clientOf({ port, clock, cluster }: HubWorld, pair?: ClientPair): HubClient {
  const hubs = parseHubUrls([`https://127.0.0.1:${port}`])
  return new HubClient({ hubs, clock, trust: () => [cluster.ca.certificate], pair: () => pair })
}

/** A node that has joined, by what an edge asks and a hub answers. */
async function joined(world: HubWorld): Promise<ClientPair> {
  const { pem, keys } = await signingRequest('edge-1')
  return {
    certificatePem: await clientOf(world).join(pem, await world.cluster.mint()),
    keyPem: privateKeyPem(keys.privateKey),
  }
}

describe('an edge at the port of a hub', () => {
  it('fetches the CAs, and sees the clock of the hub', async () => {
    const { port, clock, cluster } = await startHub()
    const { pem, hubTimeMs } = await fetchUnverifiedCa({ hubs: parseHubUrls([`https://127.0.0.1:${port}`]), clock })
    expect(pem).toBe(certificatePem(cluster.ca.certificate))
    expect(hubTimeMs).toBeGreaterThan(0)
  })

  it('joins, checks in and renews; from its first use only the new key counts', async () => {
    const world = await startHub()
    const old = await joined(world)
    const { node, key } = await clientOf(world, old).checkIn()
    expect(node).toBe('edge-1')
    const { pem, keys } = await signingRequest('edge-1')
    const renewed = { certificatePem: await clientOf(world, old).renew(pem), keyPem: privateKeyPem(keys.privateKey) }
    expect((await clientOf(world, old).checkIn()).key).toBe(key)
    expect((await clientOf(world, renewed).checkIn()).key).toBe(keyFingerprint(keys.publicKey))
    await expect(clientOf(world, old).checkIn()).rejects.toMatchObject({
      code: 'certificate-revoked',
      retryable: false,
    })
  })

  it('hears why it is refused', async () => {
    const world = await startHub()
    await joined(world)
    const { pem } = await signingRequest('edge-1')
    const refused = { kind: 'refusal', retryable: false }
    const client = clientOf(world)
    await expect(client.join(pem, await world.cluster.mint())).rejects.toMatchObject({ ...refused, code: 'name-taken' })
    await expect(client.join(pem, 'a.b.c')).rejects.toMatchObject({ ...refused, code: 'token-invalid' })
    await expect(client.checkIn()).rejects.toMatchObject({ ...refused, code: 'certificate-missing' })
  })
})
