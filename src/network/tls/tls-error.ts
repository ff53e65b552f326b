/** What OpenSSL says of a handshake that failed, for people: what it means, and what to look at. */

const notTls = 'what answers there does not speak TLS; check the address and the port'
const refusedCertificate =
  'the server does not accept our certificate; check that it is of the CA that the server believes'
const noCommonTls = 'there is no version or cipher of TLS that both sides speak; TLS 1.2 with ECDHE is the least'

/** By Node's code, which is the reason of OpenSSL; its versions spell those of alerts in different ways. */
const meanings: Readonly<Record<string, string>> = {
  WRONG_VERSION_NUMBER: notTls,
  PACKET_LENGTH_TOO_LONG: notTls,
  HTTP_REQUEST: notTls,
  UNEXPECTED_EOF_WHILE_READING:
    'the server closed the connection in the middle of TLS; look whether a proxy or a load balancer in between did',
  UNSUPPORTED_PROTOCOL: noCommonTls,
  ALERT_PROTOCOL_VERSION: noCommonTls,
  ALERT_HANDSHAKE_FAILURE: noCommonTls,
  ALERT_CERTIFICATE_REQUIRED: 'the server asks for a certificate of ours, and there is none',
  ALERT_UNKNOWN_CA: refusedCertificate,
  ALERT_BAD_CERTIFICATE: refusedCertificate,
  ALERT_CERTIFICATE_UNKNOWN: refusedCertificate,
  ALERT_CERTIFICATE_EXPIRED: 'the server takes our certificate for expired; check the clocks of both',
  ALERT_UNRECOGNIZED_NAME: 'the server does not know the name that it was called by; check the address',
  UNRECOGNIZED_NAME: 'the server does not know the name that it was called by; check the address',
  ALERT_NO_APPLICATION_PROTOCOL:
    'the server does not speak the protocol that it was asked for; check the address and the port',
}

const CODE = /^ERR_SSL_(?:TLSV\d+_|SSLV\d+_|SSL\/TLS_|TLS_)?(.+)$/
/** As OpenSSL prints an error: thread, number, library, function, reason, file and line. */
const RAW_TEXT = /error:[0-9A-F]{8}:[^:]*:[^:]*:([^:]+)/

/** The same error, or one that can be read, with the same code and the first as its cause. */
export function readableTlsError(error: Error): Error {
  const { code = '' } = error as NodeJS.ErrnoException
  const reason = RAW_TEXT.exec(error.message)?.[1]
  const meaning = meanings[CODE.exec(code)?.[1] ?? '']
  if (meaning === undefined && reason === undefined) return error
  const message = meaning ?? `the TLS handshake failed: ${reason}`
  return Object.assign(new Error(message, { cause: error }), { code })
}
