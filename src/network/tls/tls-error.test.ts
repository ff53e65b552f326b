import { describe, expect, it } from 'vitest'
import { readableTlsError } from './tls-error.ts'

const raw = (text: string, code?: string): Error => Object.assign(new Error(text), code === undefined ? {} : { code })

describe('what OpenSSL says', () => {
  it.each([
    ['ERR_SSL_WRONG_VERSION_NUMBER', /does not speak TLS/],
    ['ERR_SSL_UNEXPECTED_EOF_WHILE_READING', /closed the connection in the middle of TLS/],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', /does not accept our certificate/],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /asks for a certificate/],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', /no version or cipher/],
    ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', /no version or cipher/],
  ])('by the code %s is told with what to do', (code, text) => {
    const error = raw('40670A:error:0A000126:SSL routines:f:some reason:../ssl/x.c:1:\n', code)
    expect(readableTlsError(error)).toMatchObject({ message: expect.stringMatching(text), code, cause: error })
  })

  it('of other things is told without numbers and files', () => {
    const error = raw(
      '40670A:error:0A00018E:SSL routines:SSL_CTX_use:ca md too weak:../ssl/ssl_rsa.c:221:\n',
      'ERR_SSL_CA',
    )
    expect(readableTlsError(error).message).toBe('the TLS handshake failed: ca md too weak')
  })

  it('leaves the errors of others alone', () => {
    const error = raw('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED')
    expect(readableTlsError(error)).toBe(error)
  })
})
