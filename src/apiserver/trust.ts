/** Whom an API server believes, from its own CAs and those it was given, in the form that each reader needs. */
import type { TlsFiles } from '../http/server/listener.ts'
import { type Certificate, certificatePem, readCertificates } from '../identity/certificate.ts'
import type { CaBundle } from './api-server-options.ts'
import type { Trust } from './controllers/trust-config-map.ts'
import type { Pki } from './pki/pki.ts'

/** The only name in a certificate of the front proxy's CA that may speak for others. */
export const FRONT_PROXY_NAME = 'front-proxy-client'

/** The CAs whose client certificates are believed to name their holder. */
export function clientTrust({ ca }: Pki, further: readonly CaBundle[]): readonly Certificate[] {
  return [ca.certificate, ...certificatesOf(further)]
}

/** What the listener shows to clients. The CAs it names are how clients choose which certificate to present. */
export function tlsFiles({ serving, ca, frontProxyCa }: Pki, further: readonly CaBundle[] = []): TlsFiles {
  const own = [ca.certificate, frontProxyCa.certificate]
  const clientCas = [...own, ...certificatesOf(further)].map((certificate) => certificatePem(certificate))
  return { cert: serving.certificatePem, key: serving.keyPem, clientCas }
}

/** What extension API servers read to know whom to believe. */
export function publishedTrust({ ca, frontProxyCa }: Pki, further: readonly CaBundle[]): Trust {
  return {
    clientCaPem: [certificatePem(ca.certificate), ...further.map(({ pem }) => pem)].join(''),
    requestHeader: {
      caPem: certificatePem(frontProxyCa.certificate),
      allowedNames: [FRONT_PROXY_NAME],
      usernameHeaders: ['X-Remote-User'],
      groupHeaders: ['X-Remote-Group'],
      extraHeaderPrefixes: ['X-Remote-Extra-'],
    },
  }
}

function certificatesOf(bundles: readonly CaBundle[]): Certificate[] {
  return bundles.flatMap(({ pem, source }) => readCertificates(pem, source))
}
