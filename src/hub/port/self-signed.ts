/** A certificate that proves nothing: enough to finish a handshake and say why the client cannot be served. */
import { certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { issueSelfSignedCa, validityFromNow } from '../../identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ServerIdentity } from './connection.ts'

/** Longer than any hub runs without a restart. */
const lifeMs = 3650 * 24 * 60 * 60 * 1000

export async function selfSignedIdentity(clock: Clock): Promise<ServerIdentity> {
  const { privateKey } = await generateKeys()
  const template = { subject: userName('no-such-cluster'), ...validityFromNow(clock, lifeMs) }
  const { certificate } = await issueSelfSignedCa(template, privateKey)
  return { certificatePem: certificatePem(certificate), privateKeyPem: privateKeyPem(privateKey) }
}
