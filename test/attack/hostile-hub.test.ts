/**
 * A hub that was taken over answers an edge, which trusts its certificate. What it says may be refused or useless; it must neither
 * grow in the edge without limit nor keep it busy.
 */
import { createServer, type Server } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  HubClient,
  MAX_CERTIFICATE_NAMES,
  MAX_CROSS_CERTIFICATES,
  MAX_REFUSAL_TEXT_CHARACTERS,
} from '../../src/edge/hub/hub-client.ts'
import { HubError } from '../../src/edge/hub/hub-error.ts'
import { MAX_INTERIM_ANSWERS } from '../../src/edge/hub/hub-exchange.ts'
import { parseHubUrls } from '../../src/edge/hub/hub-url.ts'
import { certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { issueCertificate, validityFromNow } from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { listen } from '../../src/network/listen.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { DAY_MS, EdgeHub } from '../worlds/edge-hub.ts'

let clock: ManualClock
let hub: EdgeHub
const servers: Server[] = []

beforeEach(async () => {
  clock = new ManualClock(Date.now())
  hub = await EdgeHub.start({ clock })
})
afterEach(async () => {
  await hub.stop()
  for (const server of servers.splice(0)) server.close()
})

function client(url = hub.url): HubClient {
  return new HubClient({ hubs: parseHubUrls([url]), clock, trust: () => [hub.authority.certificate] })
}

async function failureOf(work: Promise<unknown>): Promise<HubError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(HubError)
  return error as HubError
}

/** A hub that answers every request with these bytes, over and over, for as long as anybody listens. */
async function endless(bytes: string): Promise<string> {
  const keys = await generateKeys()
  const names = { dnsNames: [], ipAddresses: ['127.0.0.1'] }
  const life = validityFromNow(clock, DAY_MS)
  const template = { subject: userName('hub'), names, ...life, extendedKeyUsages: ['serverAuth'] as const }
  const certificate = await issueCertificate(hub.authority, template, keys.publicKey)
  const server = createServer({ cert: certificatePem(certificate), key: privateKeyPem(keys.privateKey) }, (socket) => {
    const go = (): void => {
      while (socket.writable && socket.write(bytes)) {}
    }
    socket.on('error', () => {}).on('drain', go)
    socket.once('data', go)
  })
  servers.push(server)
  return `https://127.0.0.1:${(await listen(server, { host: '127.0.0.1', port: 0 })).port}`
}

describe('a hub that never comes to an end is given up', () => {
  it.each([
    [
      'interim answers',
      'HTTP/1.1 102 Processing\r\n\r\n',
      'protocol',
      `more than ${MAX_INTERIM_ANSWERS} interim answers`,
    ],
    ['a continue', 'HTTP/1.1 100 Continue\r\n\r\n', 'protocol', `more than ${MAX_INTERIM_ANSWERS} interim answers`],
    ['headers', 'X-A: b\r\n', 'protocol', ''],
  ])('with %s', async (_name, bytes, code, message) => {
    const failure = await failureOf(client(await endless(bytes)).kubernetesCa())
    expect(failure).toMatchObject({ kind: 'network', code })
    expect(failure.message).toContain(message)
  })
})

describe('a hub that says too much', () => {
  it('has its list of cross-certificates refused before they are read', async () => {
    const pem = certificatePem(hub.authority.certificate)
    const status = { node: 'edge-1', key: 'k', certificateEnds: '', hubCa: pem }
    hub.before = () => ({ status: 200, body: JSON.stringify({ ...status, crossCertificates: pem.repeat(500) }) })
    const failure = await failureOf(client().checkIn())
    expect(failure.message).toContain(`holds more than ${MAX_CROSS_CERTIFICATES} certificates`)
  })

  it('cannot make the node ask for a certificate of more names than any has', async () => {
    const names = Array.from({ length: MAX_CERTIFICATE_NAMES + 1 }, (_, index) => `name-${index}.example`)
    const content = { subject: { commonName: 'a', organizations: [] }, ipAddresses: [], expirationSeconds: 1 }
    hub.before = () => ({ status: 200, body: JSON.stringify({ ...content, dnsNames: names }) })
    expect(await failureOf(client().certificateContent('serving'))).toMatchObject({ code: 'protocol' })
    hub.before = () => ({ status: 200, body: JSON.stringify({ ...content, dnsNames: ['x'.repeat(300)] }) })
    expect(await failureOf(client().certificateContent('serving'))).toMatchObject({ code: 'protocol' })
    hub.before = () => ({ status: 200, body: JSON.stringify({ ...content, dnsNames: names.slice(1) }) })
    expect((await client().certificateContent('serving')).dnsNames).toHaveLength(MAX_CERTIFICATE_NAMES)
  })

  it('has its reasons cut, and codes that are none not taken for codes', async () => {
    hub.before = () => ({ status: 403, body: JSON.stringify({ code: 'name-taken', message: 'x'.repeat(100_000) }) })
    const failure = await failureOf(client().kubernetesCa())
    expect(failure.code).toBe('name-taken')
    expect(failure.message).toHaveLength(MAX_REFUSAL_TEXT_CHARACTERS)
    hub.before = () => ({ status: 403, body: JSON.stringify({ code: 'x'.repeat(100_000), message: 'no' }) })
    expect(await failureOf(client().kubernetesCa())).toMatchObject({ code: 'http-403' })
  })
})
