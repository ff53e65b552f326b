/**
 * Whether a CA is good for what the hub needs it for. Instead of listing what may be wrong with one, the hub signs a
 * certificate for nobody and checks it as it will check those of edges.
 */
import { formatName, userName } from '../../identity/distinguished-name.ts'
import { IdentityError } from '../../identity/errors.ts'
import { type CertificateAuthority, issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { generateKeys } from '../../identity/keys.ts'
import { verifyCertificate } from '../../identity/verify.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ClusterError } from '../shared/cluster-error.ts'

const trialLifeMs = 60_000

/** Throws an error that names `source` and says what is wrong with the CA in it. */
export async function checkCanSign(authority: CertificateAuthority, source: string, clock: Clock): Promise<void> {
  checkDates(authority, source, clock.nowMs())
  const { publicKey } = await generateKeys()
  for (const usage of ['clientAuth', 'serverAuth'] as const) {
    const template = {
      subject: userName('causeway-trial'),
      ...validityFromNow(clock, trialLifeMs),
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: [usage],
    } as const
    const trial = await naming(source, () => issueCertificate(authority, template, publicKey, { ifOutlivesCa: 'cap' }))
    const result = verifyCertificate(trial, { trust: [authority.certificate], usage, atMs: clock.nowMs() })
    if (!result.ok) throw new IdentityError('not-a-ca', `${source} cannot sign for ${usage}: ${result.message}`)
  }
}

function checkDates({ certificate }: CertificateAuthority, source: string, nowMs: number): void {
  const { notBeforeMs, notAfterMs, subject } = certificate
  const what = `the CA ${formatName(subject)} in ${source}`
  if (nowMs > notAfterMs)
    throw new ClusterError(`${what} expired at ${new Date(notAfterMs).toISOString()}; replace it with a valid one`)
  if (nowMs < notBeforeMs)
    throw new ClusterError(
      `${what} is not valid before ${new Date(notBeforeMs).toISOString()}; check this machine's clock`,
    )
}

async function naming<T>(source: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error
    throw new IdentityError(error.code, `${source}: ${error.message}`, { cause: error })
  }
}
