/** For whom a CertificateSigningRequest asks a certificate. */
import { readRequest } from '../../identity/csr.ts'
import type { DistinguishedName } from '../../identity/distinguished-name.ts'
import { IdentityError } from '../../identity/errors.ts'
import { type Fields, text } from '../kinds/fields.ts'

export type RequestedSubject =
  | { readonly readable: true; readonly name: DistinguishedName }
  | { readonly readable: false; readonly why: string }

/** Reads `spec.request`, which is PEM in base64. */
export async function requestedSubject(spec: Fields | undefined): Promise<RequestedSubject> {
  try {
    const { subject } = await readRequest(Buffer.from(text(spec, 'request'), 'base64'), 'spec.request')
    return { readable: true, name: subject }
  } catch (error) {
    if (error instanceof IdentityError) return { readable: false, why: error.message }
    throw error
  }
}
