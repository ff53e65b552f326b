/** What hubs and edges do with wrong input: an exit code, a sentence that helps, and no change anywhere. */
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { type CertificateAuthority, issueCertificate, issueSelfSignedCa } from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { clockShiftedBy, endAll, run } from './harness.ts'
import { HubCluster, type RunningHub } from './hub-cluster.ts'

const hourMs = 3_600_000

let cluster: HubCluster
const servers: Server[] = []

beforeAll(async () => {
  cluster = await HubCluster.start()
})
afterAll(async () => {
  for (const server of servers) server.close()
  await cluster.close()
  await endAll()
})

/** Keeps a CA as `NAME.crt` and `NAME.key`. */
async function writeCa(name: string, life = { fromMs: -hourMs, toMs: hourMs }): Promise<CertificateAuthority> {
  const nowMs = Date.now()
  const { privateKey } = await generateKeys()
  const dates = { notBeforeMs: nowMs + life.fromMs, notAfterMs: nowMs + life.toMs }
  const ca = await issueSelfSignedCa({ subject: userName(name), ...dates }, privateKey)
  cluster.write(`${name}.crt`, certificatePem(ca.certificate))
  cluster.write(`${name}.key`, privateKeyPem(privateKey))
  return ca
}

describe('a hub with files it cannot use ends with exit code 1, says why, and has written nothing', () => {
  beforeAll(async () => {
    await Promise.all([writeCa('good'), writeCa('other'), writeCa('old', { fromMs: -2 * hourMs, toMs: -hourMs })])
    const ca = await writeCa('above')
    const leaf = await generateKeys()
    const template = {
      subject: userName('leaf'),
      notBeforeMs: Date.now() - hourMs,
      notAfterMs: Date.now() + hourMs / 2,
    }
    cluster.write('leaf.crt', certificatePem(await issueCertificate(ca, template, leaf.publicKey)))
    cluster.write('leaf.key', privateKeyPem(leaf.privateKey))
    cluster.write('garbage.crt', 'hello\n')
    mkdirSync(cluster.path('folder.crt'))
  })

  it.each([
    ['half a pair on the command line', ['--ca-cert', 'good.crt'], '--ca-cert needs --ca-key too'],
    ['half a pair on disk', ['--ca-cert', 'good.crt', '--ca-key', 'none.key'], 'none.key'],
    ['a key of another CA', ['--ca-cert', 'good.crt', '--ca-key', 'other.key'], 'does not belong to'],
    ['a CA that has expired', ['--ca-cert', 'old.crt', '--ca-key', 'old.key'], 'expired at'],
    [
      'a certificate that is of no CA',
      ['--ca-cert', 'leaf.crt', '--ca-key', 'leaf.key'],
      'not the certificate of a CA',
    ],
    ['a file that is no certificate', ['--ca-cert', 'garbage.crt', '--ca-key', 'good.key'], 'garbage.crt'],
    ['a file that cannot be read', ['--ca-cert', 'folder.crt', '--ca-key', 'good.key'], 'folder.crt'],
    ['a server key of another pair', ['--server-cert', 'leaf.crt', '--server-key', 'good.key'], 'does not belong to'],
    ['half a server pair on disk', ['--server-cert', 'none.crt', '--server-key', 'good.key'], 'none.crt'],
    ['no address to be reached at', ['--listen', '127.0.0.1:0', '--advertise', 'no good'], 'no good'],
  ])('%s', async (_what, flags, text) => {
    const hub = cluster.launchHub(`refused-${_what.replaceAll(' ', '-')}`, ...flags)
    expect(await hub.exited).toEqual({ code: 1, signal: null })
    expect(hub.stdout).toBe('')
    expect(hub.stderr).toContain(text)
    expect(hub.stderr).not.toContain('unexpected')
    expect(await cluster.written()).toEqual([])
  })

  it('an API server that is not there', async () => {
    const kubeconfig = cluster
      .text('api/admin.kubeconfig')
      .replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, 'https://127.0.0.1:1')
    const hub = cluster.launchHub('refused-away', '--kubeconfig', cluster.write('away.kubeconfig', kubeconfig))
    expect(await hub.exited).toEqual({ code: 1, signal: null })
    expect(hub.stderr).toContain('https://127.0.0.1:1')
    expect(hub.stderr).not.toContain('unexpected')
  })
})

describe.concurrent('an edge that cannot join says at which step, why, and what to do', () => {
  let hub: RunningHub
  beforeAll(async () => {
    hub = await cluster.hub('hub')
  })

  /** Joins in vain; what it said. */
  async function refusal(node: string, tokenFile: string, url = hub.url, environment = {}): Promise<string> {
    const flags = ['--hub', url, '--token-file', tokenFile, '--data-dir', `data-${node}`, '--node-name', node]
    const { code, stdout, stderr } = await run(['edge', 'join', ...flags], { workingDir: cluster.folder, environment })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(cluster.has(tokenFile)).toBe(true)
    expect(cluster.has(`data-${node}/edge.crt`)).toBe(false)
    return stderr.split('\n').at(-2) ?? ''
  }

  it('a host that nobody knows', async () => {
    const said = await refusal('dns', await cluster.token('dns'), 'https://no-such-host.invalid:10000')
    expect(said).toMatch(
      /^error: step 2 of 7, fetch the hub's CA certificate: .*no-such-host\.invalid.* Check the name/,
    )
  })

  it('nobody who listens', async () => {
    const said = await refusal('refused', await cluster.token('refused'), 'https://127.0.0.1:1')
    expect(said).toMatch(/step 2 of 7.*127\.0\.0\.1:1.*Nobody listens there/)
  })

  it('no route', async () => {
    // No system sends TCP to that address.
    const said = await refusal('route', await cluster.token('route'), 'https://255.255.255.255:10000')
    expect(said).toMatch(/step 2 of 7.*There is no way from here to https:\/\/255\.255\.255\.255:10000/)
  })

  it('a token of another cluster', async () => {
    const own = cluster.text(await cluster.token('hash'))
    cluster.write('hash', `${'0'.repeat(64)}${own.slice(64)}`)
    expect(await refusal('hash', 'hash')).toMatch(
      /step 3 of 7, compare the CA with the token: .*another cluster.*The token was not sent/,
    )
  })

  it('a text that is no token', async () => {
    expect(await refusal('garbage', cluster.write('no-token', 'hello\n'))).toMatch(/step 1 of 7.*not a join token/)
  })

  it('a token that was altered', async () => {
    const own = cluster.text(await cluster.token('altered')).trim()
    cluster.write('altered', `${own.slice(0, -4)}AAAA\n`)
    expect(await refusal('altered', 'altered')).toMatch(
      /step 5 of 7, ask the hub for a certificate: .*Make a new token/,
    )
  })

  it('a token that has expired', async () => {
    const made = await run(['token', 'create', '--kubeconfig', 'api/admin.kubeconfig'], {
      workingDir: cluster.folder,
      environment: clockShiftedBy(-26 * hourMs),
    })
    const said = await refusal('expired', cluster.write('expired', made.stdout))
    expect(said).toMatch(/step 5 of 7.*expired.*causeway token create/)
  })

  it('a name that is taken, until a token names it', async () => {
    expect(
      (await cluster.join('data-first', hub.url, await cluster.token('first'), ['--node-name', 'taken'])).code,
    ).toBe(0)
    expect(await refusal('taken', await cluster.token('second'))).toMatch(
      /node taken.*causeway token create --node taken/,
    )
    const named = await cluster.join('data-taken', hub.url, await cluster.token('third', { node: 'taken' }))
    expect(named.code).toBe(0)
  })

  it('a clock that is an hour behind', async () => {
    const said = await refusal('behind', await cluster.token('behind'), hub.url, clockShiftedBy(-hourMs))
    expect(said).toMatch(/valid only from .*the clock here says \S+, that of the hub \S+\. Set the clock/)
  })

  it('a name in the address that the hub does not have', async () => {
    const said = await refusal(
      'wrong-name',
      await cluster.token('wrong-name'),
      hub.url.replace('127.0.0.1', 'localhost'),
    )
    expect(said).toMatch(/step 5 of 7.*localhost.*--advertise/)
  })

  it('somebody on the way who opens TLS, and never sees the token', async () => {
    const ca = await writeCa('intruder')
    const pem = await exportedCa()
    // Passes the real CA on, so that the hash is right, and answers everything else himself.
    const seen = await intercept(ca, pem)
    const token = await cluster.token('intercepted')
    const said = await refusal('intercepted', token, seen.url)
    expect(said).toMatch(/step 5 of 7.*something on the way opens TLS connections.*The token was not sent/)
    expect(seen.asked).toEqual(['GET /ca.crt'])
    const swapped = await intercept(ca, certificatePem(ca.certificate))
    expect(await refusal('swapped', token, swapped.url)).toMatch(/step 3 of 7.*somebody answers in the hub's place/)
    expect(swapped.asked).toEqual(['GET /ca.crt'])
  })

  async function exportedCa(): Promise<string> {
    await cluster.exportCa('hub-ca')
    return cluster.text('hub-ca.crt')
  }

  it('no identity and no token', async () => {
    const edge = cluster.launchEdge('data-none')
    expect((await edge.exited).code).toBe(1)
    expect(edge.stderr).toContain('this node has not joined yet. Give --hub, --token-file and --node-name')
  })

  it('a part of a pair, or a pair and a token: a wrong command line', async () => {
    const part = cluster.launchEdge('data-part', '--hub', hub.url, '--edge-cert', 'leaf.crt')
    expect((await part.exited).code).toBe(2)
    expect(part.stderr).toContain('--ca-cert and --edge-key')
    const both = cluster.launchEdge('data-both', '--ca-cert', 'good.crt', '--token-file', 'none')
    expect((await both.exited).code).toBe(2)
    expect(both.stderr).toContain('not both')
  })

  it('a pair that does not fit, or is of another CA', async () => {
    const mixed = ['--ca-cert', 'good.crt', '--edge-cert', 'leaf.crt', '--edge-key', 'good.key']
    const edge = cluster.launchEdge('data-mixed', '--hub', hub.url, ...mixed)
    expect((await edge.exited).code).toBe(1)
    expect(edge.stderr).toContain('does not belong to')
    const foreign = ['--ca-cert', 'good.crt', '--edge-cert', 'leaf.crt', '--edge-key', 'leaf.key']
    const other = cluster.launchEdge('data-foreign', '--hub', hub.url, ...foreign)
    expect((await other.exited).code).toBe(1)
    expect(other.stderr).toContain('leaf.crt')
    expect(other.stderr).not.toContain('unexpected')
  })
})

/** A server with a certificate of that CA, which gives out this PEM as the hub's CA. */
async function intercept(ca: CertificateAuthority, caPem: string): Promise<{ url: string; asked: string[] }> {
  const keys = await generateKeys()
  const { notBeforeMs, notAfterMs } = ca.certificate
  const names = { ipAddresses: ['127.0.0.1'] }
  const template = { subject: userName('hub'), notBeforeMs, notAfterMs, names }
  const certificate = await issueCertificate(ca, template, keys.publicKey)
  const asked: string[] = []
  const own = { cert: certificatePem(certificate), key: privateKeyPem(keys.privateKey) }
  const server = createServer(own, (request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.end(caPem)
  })
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}
