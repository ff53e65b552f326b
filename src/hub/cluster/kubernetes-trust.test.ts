import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { issueSelfSignedCa, validityFromNow } from '../../identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import { KubeClient } from '../../kube/client/client.ts'
import type { ConnectionConfig } from '../../kube/client/connection.ts'
import type { Transport } from '../../kube/client/transport.ts'
import { systemClock } from '../../runtime/clock.ts'
import { findKubernetesTrust } from './kubernetes-trust.ts'

let folder: string
let caPem: string
let otherPem: string
let keyPem: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-trust-'))
  const { privateKey } = await generateKeys()
  const make = async (name: string): Promise<string> => {
    const template = { subject: userName(name), ...validityFromNow(systemClock, 3_600_000) }
    return certificatePem((await issueSelfSignedCa(template, privateKey)).certificate)
  }
  caPem = await make('kubernetes')
  otherPem = await make('other')
  keyPem = privateKeyPem(privateKey)
})
afterAll(() => {
  removeFolder(folder)
})

/** Answers `kube-root-ca.crt` in these namespaces; elsewhere with the status. */
function transport(rootCas: Record<string, string>, status = 404): Transport {
  return {
    request: ({ path }) => {
      const pem = rootCas[/namespaces\/([^/]+)\/configmaps\/kube-root-ca\.crt$/.exec(path)?.[1] ?? '']
      const found = { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { 'ca.crt': pem ?? '' } }
      const failed = { apiVersion: 'v1', kind: 'Status', status: 'Failure', code: status, message: 'no' }
      const body = Readable.from([Buffer.from(JSON.stringify(pem === undefined ? failed : found))])
      const headers = { 'content-type': 'application/json' }
      return Promise.resolve({ status: pem === undefined ? status : 200, headers, body })
    },
    upgrade: () => Promise.reject(new Error('not here')),
    close: () => Promise.resolve(),
  }
}

function client(changed: Partial<ConnectionConfig> = {}, answers = transport({})): KubeClient {
  const connection: ConnectionConfig = {
    source: 'context "x"',
    server: 'https://api.example:6443',
    namespace: 'default',
    tls: { skipVerify: false, ca: { data: Buffer.from(caPem) } },
    credentials: { type: 'anonymous' },
    ...changed,
  }
  return new KubeClient(connection, { transport: answers })
}

const find = (given: KubeClient, more: { caFile?: string; apiServerName?: string } = {}) =>
  findKubernetesTrust({ client: given, namespace: 'causeway-system', ...more })
const noCa = { tls: { skipVerify: false } }

describe('the CA of the API server', () => {
  it('is what the connection trusts, by data or by file', async () => {
    expect((await find(client())).caPem).toBe(caPem)
    const file = join(folder, 'ca.crt')
    writeFileSync(file, otherPem)
    expect((await find(client({ tls: { skipVerify: false, ca: { file } } }))).caPem).toBe(otherPem)
    expect((await find(client(), { caFile: file })).caPem).toBe(otherPem)
  })

  it('is handed on without whatever else is in the file', async () => {
    const data = Buffer.from(`# our CA\n${keyPem}${caPem}${otherPem}`)
    const { caPem: found } = await find(client({ tls: { skipVerify: false, ca: { data } } }))
    expect(found).toBe(caPem + otherPem)
  })

  it('is else what the cluster gives to its pods, in our namespace first', async () => {
    const both = transport({ 'causeway-system': caPem, default: otherPem })
    expect((await find(client(noCa, both))).caPem).toBe(caPem)
    expect((await find(client(noCa, transport({ default: otherPem }, 403)))).caPem).toBe(otherPem)
  })

  it('that nobody names, or that is none, is an error', async () => {
    await expect(find(client(noCa))).rejects.toThrow(/cannot tell which CA .* context "x" names none/)
    const bad = { tls: { skipVerify: false, ca: { data: Buffer.from('x') } } }
    await expect(find(client(bad))).rejects.toThrow(/the certificate authority of context "x" holds no certificate/)
    await expect(find(client(), { caFile: join(folder, 'none') })).rejects.toThrow(
      /cannot read the Kubernetes CA from .*none/,
    )
  })
})

describe('the name of the API server', () => {
  const pod = { type: 'token', token: { file: '/var/run/secrets/kubernetes.io/serviceaccount/token' } } as const
  const tls = { skipVerify: false, ca: { data: Buffer.alloc(0) } }

  it.each([
    ['the host', { server: 'https://api.example:6443/path' }, 'api.example'],
    ['an address', { server: 'https://10.0.0.1:6443' }, '10.0.0.1'],
    ['an IPv6 address', { server: 'https://[fd00::1]:6443' }, 'fd00::1'],
    ['the Service, in a pod', { server: 'https://10.96.0.1:443', credentials: pod }, 'kubernetes.default.svc'],
    ['the host, in a pod that uses one', { server: 'https://api.example', credentials: pod }, 'api.example'],
  ])('is %s', async (_what, changed, name) => {
    expect((await find(client(changed))).apiServerName).toBe(name)
  })

  it('is the one the connection verifies, or the operator says', async () => {
    const named = client({ tls: { ...tls, ca: { data: Buffer.from(caPem) }, serverName: 'inside.example' } })
    expect((await find(named)).apiServerName).toBe('inside.example')
    expect((await find(named, { apiServerName: 'said.example' })).apiServerName).toBe('said.example')
  })
})
