/**
 * What a node asks for under its edge certificate cannot be had while that one does not count. Its own keeper renews it or
 * says who has to act; whoever asks in the meantime only waits, and must not tell people to join again on its own account.
 */
import type { HubRefusalCode } from '../../protocol/refusals.ts'
import { HubError } from '../hub/hub-error.ts'

const edgeCertificateCodes: ReadonlySet<string> = new Set<HubRefusalCode>([
  'certificate-missing',
  'certificate-invalid',
  'certificate-expired',
  'certificate-revoked',
  'node-mismatch',
])

/** Refusals of the edge's own certificate come out as something to be tried again, under the code `edge-certificate`. */
export async function behindEdgeCertificate<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof HubError) || !edgeCertificateCodes.has(error.code)) throw error
    const { hubTimeMs, message } = error
    const said = `the hub does not take the certificate of this edge itself: ${message}`
    throw new HubError('refusal', 'edge-certificate', said, { retryable: true, hubTimeMs, cause: error })
  }
}
