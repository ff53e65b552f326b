import { describe, expect, it } from 'vitest'
import { makeCa } from '../../../test/worlds/fake-cluster.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { issueCertificate, issueSelfSignedCa, validityFromNow } from '../../identity/issue.ts'
import { generateKeys } from '../../identity/keys.ts'
import { systemClock } from '../../runtime/clock.ts'
import { ClusterError } from '../shared/cluster-error.ts'
import { checkCaSeparation } from './ca-separation.ts'

const [kubernetes, earlier, hub] = await Promise.all(
  ['kubernetes', 'kubernetes-2025', 'hub'].map((name) => makeCa(systemClock, name)),
)
if (kubernetes === undefined || earlier === undefined || hub === undefined) throw new Error('no CAs')
const bundle = { caPem: certificatePem(earlier.certificate, kubernetes.certificate) }
const authority = { signing: hub, trust: [hub.certificate], chainAbove: [] }

describe('checkCaSeparation', () => {
  it('lets a CA pass that Kubernetes does not know', () => {
    expect(() => checkCaSeparation(authority, bundle)).not.toThrow()
  })

  it('refuses a CA of Kubernetes, wherever it stands in the bundle', () => {
    const own = { ...authority, signing: kubernetes, trust: [kubernetes.certificate] }
    expect(() => checkCaSeparation(own, bundle)).toThrow(ClusterError)
    expect(() => checkCaSeparation(own, bundle)).toThrow(
      /^the CA of the hub, CN=kubernetes \(SHA-256 [0-9a-f]{16}\), has the same key as CN=kubernetes \(/,
    )
  })

  it('refuses the key of one in another certificate, and one that counts only during a roll-over', async () => {
    const template = { subject: userName('another'), ...validityFromNow(systemClock, 3_600_000) }
    const renamed = await issueSelfSignedCa(template, kubernetes.privateKey)
    expect(() => checkCaSeparation({ ...authority, trust: [renamed.certificate] }, bundle)).toThrow('has the same key')
    const trust = [hub.certificate, earlier.certificate]
    expect(() => checkCaSeparation({ ...authority, trust }, bundle)).toThrow('CN=kubernetes-2025')
  })

  it('refuses one that a CA of Kubernetes has signed', async () => {
    const { publicKey } = await generateKeys()
    const template = {
      subject: userName('hub'),
      ...validityFromNow(systemClock, 3_600_000),
      ca: {},
      keyUsages: ['keyCertSign'],
    } as const
    const signed = await issueCertificate(kubernetes, template, publicKey)
    expect(() => checkCaSeparation({ ...authority, trust: [signed] }, bundle)).toThrow('was signed by CN=kubernetes')
  })
})
