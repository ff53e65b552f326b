import * as fc from 'fast-check'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { FakeCluster, makeCa } from '../../../test/worlds/fake-cluster.ts'
import { credentialFor } from '../../../test/worlds/hub-world.ts'
import { readCertificates } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { generateKeys, keyFingerprint } from '../../identity/keys.ts'
import { ManualClock } from '../../runtime/clock.ts'
import type { Peer } from './connection.ts'
import { checkPeer } from './peer-check.ts'

const clock = new ManualClock()
const identified = vi.fn()
let cluster: FakeCluster

beforeAll(async () => {
  cluster = new FakeCluster(clock, await makeCa(clock))
})

function peerWith(...certificates: Buffer[]): Peer {
  return { address: '192.0.2.1', source: '192.0.2.1', certificates, identified }
}

async function edgeDer(node: string): Promise<Buffer> {
  const { cert } = await credentialFor(cluster.ca, { clock, node })
  return readCertificates(cert, 'the certificate')[0].der
}

describe('checkPeer', () => {
  it('says which node it is, and claims the name at its first use', async () => {
    const der = await edgeDer('edge-1')
    const edge = await checkPeer(peerWith(der), cluster, { clock })
    expect(edge).toMatchObject({ node: 'edge-1', key: keyFingerprint(edge.certificate.publicKey) })
    expect(cluster.claims.known('edge-1')).toEqual(edge.claim)
    await expect(checkPeer(peerWith(await edgeDer('edge-1')), cluster, { clock })).rejects.toMatchObject({
      code: 'certificate-revoked',
    })
    expect(identified).toHaveBeenCalledTimes(1)
  })

  it('finds its way over the intermediates that the peer sent', async () => {
    const { privateKey, publicKey } = await generateKeys()
    const template = { subject: userName('middle'), ca: {}, ...validityFromNow(clock, 3_600_000) }
    const middle = { certificate: await issueCertificate(cluster.ca, template, publicKey), privateKey }
    const { cert } = await credentialFor(middle, { clock, node: 'edge-2', ...validityFromNow(clock, 60_000) })
    const [{ der }] = readCertificates(cert, 'the certificate')
    await expect(checkPeer(peerWith(der), cluster, { clock })).rejects.toMatchObject({ code: 'certificate-invalid' })
    expect(await checkPeer(peerWith(der, middle.certificate.der), cluster, { clock })).toMatchObject({ node: 'edge-2' })
  })

  it('refuses damaged certificates and never breaks on them', async () => {
    const der = await edgeDer('edge-3')
    await fc.assert(
      fc.asyncProperty(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const damaged = Buffer.from(der)
        damaged[at] = (damaged[at] ?? 0) ^ flip
        await expect(checkPeer(peerWith(damaged), cluster, { clock })).rejects.toMatchObject({
          code: expect.stringMatching(/^certificate-/) as string,
        })
      }),
    )
    expect(cluster.claims.known('edge-3')).toBeUndefined()
    await expect(checkPeer(peerWith(der.subarray(0, 100)), cluster, { clock })).rejects.toMatchObject({
      code: 'certificate-invalid',
    })
  })
})
