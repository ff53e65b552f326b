/** The socket carrier over plain TCP and over TLS. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { certificatePem } from '../../../src/identity/certificate.ts'
import { userName } from '../../../src/identity/distinguished-name.ts'
import { issueSelfSignedCa, validityFromNow } from '../../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../../src/identity/keys.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { type ByteSocket, SocketCarrier } from '../../../src/tunnel/socket-carrier.ts'
import { type CarrierPair, describeCarrier } from './session-carrier.ts'

async function pairOf(
  server: Server,
  event: string,
  dial: (port: number) => Socket,
  kind: string,
): Promise<CarrierPair> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, event)
  const near = dial((server.address() as { port: number }).port)
  const [far] = (await accepted) as [ByteSocket]
  return {
    near: new SocketCarrier(near, `${kind} near`),
    far: new SocketCarrier(far, `${kind} far`),
    stop: () => {
      near.destroy()
      far.destroy()
      server.close()
    },
  }
}

describeCarrier('tcp', () =>
  pairOf(createServer({ allowHalfOpen: true }), 'connection', (port) => connect({ port, host: '127.0.0.1' }), 'tcp'),
)

describeCarrier('tls', async () => {
  const { privateKey } = await generateKeys()
  const validity = validityFromNow(systemClock, 60_000)
  const { certificate } = await issueSelfSignedCa({ ...validity, subject: userName('carrier') }, privateKey)
  const server = createTlsServer({ key: privateKeyPem(privateKey), cert: certificatePem(certificate) })
  return pairOf(
    server,
    'secureConnection',
    (port) => connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }),
    'tls',
  )
})
