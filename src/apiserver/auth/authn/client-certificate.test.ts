import { beforeAll, describe, expect, it } from 'vitest'
import type { Exchange } from '../../../http/server/exchange.ts'
import { userName } from '../../../identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from '../../../identity/issue.ts'
import { generateKeys } from '../../../identity/keys.ts'
import { MAX_PRESENTED_BYTES } from '../../../identity/peer.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { CertificateAuthenticator } from './client-certificate.ts'

const life = validityFromNow(systemClock, 3_600_000)
let ca: CertificateAuthority
let own: Buffer
beforeAll(async () => {
  ca = await issueSelfSignedCa({ ...life, subject: userName('ca') }, (await generateKeys()).privateKey)
  const { publicKey } = await generateKeys()
  const names = { dnsNames: Array.from({ length: 500 }, (_, index) => `name-${index}.example`) }
  const template = { ...life, subject: userName('jane', ['makers']), names, extendedKeyUsages: ['clientAuth'] } as const
  own = Buffer.from((await issueCertificate(ca, template, publicKey)).der)
})

function authenticate(...certificates: Buffer[]) {
  const authenticator = new CertificateAuthenticator(systemClock, () => [ca.certificate])
  return authenticator.authenticate({ peer: { address: '', certificates } } as Partial<Exchange> as Exchange)
}

describe('a client certificate', () => {
  it('says who it is', async () => {
    expect(await authenticate(own)).toMatchObject({ outcome: 'known', user: { name: 'jane', groups: ['makers'] } })
    expect(await authenticate()).toEqual({ outcome: 'absent' })
  })

  it('that cannot be read is refused with the reason', async () => {
    expect(await authenticate(Buffer.from('garbage'))).toMatchObject({
      outcome: 'wrong',
      reason: expect.stringContaining('the certificate of the client'),
    })
  })

  it('is not read where more is presented than anybody needs', async () => {
    const crowd = Array.from({ length: Math.ceil(MAX_PRESENTED_BYTES / own.length) + 1 }, () => own)
    expect(await authenticate(...crowd)).toEqual({
      outcome: 'wrong',
      reason: `the client presents certificates of more than ${MAX_PRESENTED_BYTES} bytes`,
    })
  })
})
