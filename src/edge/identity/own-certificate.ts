/** Whether a certificate is one this edge can live with: signed by the hub's CA, about this node, good for a client. */
import type { Certificate } from '../../identity/certificate.ts'
import { formatName } from '../../identity/distinguished-name.ts'
import { nodeOfSubject } from '../../identity/node-name.ts'
import { type VerificationReason, verifyCertificate } from '../../identity/verify.ts'

export interface OwnCertificateChecks {
  readonly trust: readonly Certificate[]
  readonly atMs: number
  /** `ignore` for what is on disk: only a hub can say whether an expired certificate may still be renewed. */
  readonly dates: 'check' | 'ignore'
  readonly node: string
}

export interface OwnCertificateProblem {
  readonly reason: VerificationReason | 'not-a-node' | 'other-node'
  readonly message: string
}

const dateReasons: ReadonlySet<VerificationReason> = new Set(['expired', 'not-yet-valid'])

/** `chain`: the certificate itself, then what came with it. */
export function ownCertificateProblem(
  chain: readonly [Certificate, ...Certificate[]],
  checks: OwnCertificateChecks,
): OwnCertificateProblem | undefined {
  const [certificate, ...intermediates] = chain
  const { trust, atMs, dates } = checks
  const verdict = verifyCertificate(certificate, { trust, intermediates, usage: 'clientAuth', atMs })
  const failures = verdict.ok ? [] : verdict.failures
  const [failure] = failures.filter(({ reason }) => dates === 'check' || !dateReasons.has(reason))
  if (failure !== undefined) return { reason: failure.reason, message: failure.message }
  const node = nodeOfSubject(certificate.subject)
  if (node === checks.node) return undefined
  const about = `the certificate is about ${formatName(certificate.subject)}`
  if (node === undefined) return { reason: 'not-a-node', message: `${about}, which is no node` }
  return { reason: 'other-node', message: `${about}, not about node ${checks.node}` }
}
