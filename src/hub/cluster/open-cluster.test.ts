import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../test/remove-folder.ts'
import {
  type Fate,
  type OwnApiServer,
  startOwnApiServer,
  UnreliableTransport,
} from '../../../test/worlds/own-api-server.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from '../../identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import { verifyCertificate } from '../../identity/verify.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { configMaps, namespaces, nodes, secrets } from '../../kube/client/kinds.ts'
import { isNotFound } from '../../kube/status/predicates.ts'
import { type Clock, ManualClock, systemClock } from '../../runtime/clock.ts'
import { CA_SECRET, CLUSTER_CONFIG_MAP, serverSecretName, TOKEN_KEYS_SECRET } from '../shared/names.ts'
import { KubernetesNodes } from './nodes.ts'
import { type OpenCluster, type OpenClusterOptions, openCluster } from './open-cluster.ts'

const isLong = process.env['CAUSEWAY_LONG'] === '1'
const dayMs = 86_400_000
const addresses = ['hub.example', '127.0.0.1']
const warnings: string[] = []
const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })

let server: OwnApiServer
let admin: KubeClient
let namespace: string
let folder: string
let count = 0
beforeAll(async () => {
  server = await startOwnApiServer()
  admin = server.client()
})
afterAll(async () => {
  await server.stop()
})
beforeEach(() => {
  namespace = `hub-${++count}`
  folder = mkdtempSync(join(tmpdir(), 'causeway-ca-'))
  warnings.length = 0
})
afterEach(() => {
  removeFolder(folder)
})

function open(more: Partial<OpenClusterOptions> = {}): Promise<OpenCluster> {
  const client = more.client ?? admin
  return openCluster({ client, namespace, clock: systemClock, logger, addresses, certificateUseMs: dayMs, ...more })
}

async function names(): Promise<string[]> {
  const found = await admin.resource(secrets).in(namespace).list()
  return found.items.map(({ metadata }) => metadata?.name ?? '').toSorted()
}

async function exists(): Promise<boolean> {
  try {
    await admin.resource(namespaces).get(namespace)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** Gives a user these rights everywhere. */
async function grant(user: string, rules: readonly object[]): Promise<void> {
  const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false } as const
  const name = `${user}-${namespace}`
  const roleRef = { apiGroup: rbac.group, kind: 'ClusterRole', name }
  const subjects = [{ apiGroup: rbac.group, kind: 'User', name: user }]
  await admin.resource({ ...rbac, resource: 'clusterroles', kind: 'ClusterRole' }).create({ metadata: { name }, rules })
  await admin
    .resource({ ...rbac, resource: 'clusterrolebindings', kind: 'ClusterRoleBinding' })
    .create({ metadata: { name }, roleRef, subjects })
}

const secret = (name: string) => admin.resource(secrets).in(namespace).get(name)
const clusterId = async () =>
  (await admin.resource(configMaps).in(namespace).get(CLUSTER_CONFIG_MAP)).data?.['clusterId']
const caOf = (cluster: OpenCluster): string => cluster.authority().signing.certificate.fingerprint

async function makeCa(clock: Clock = systemClock, lifeMs = dayMs, key?: KeyObject): Promise<CertificateAuthority> {
  const privateKey = key ?? (await generateKeys()).privateKey
  return await issueSelfSignedCa({ subject: userName('their CA'), ...validityFromNow(clock, lifeMs) }, privateKey)
}

function write(name: string, content: string): string {
  const file = join(folder, name)
  writeFileSync(file, content)
  return file
}

function writeCa({ certificate, privateKey }: CertificateAuthority, keyPem = privateKeyPem(privateKey)) {
  return { certificate: write('ca.crt', certificatePem(certificate)), key: write('ca.key', keyPem) }
}

describe('opening a cluster', () => {
  it('makes what is missing, and finds it the next time', async () => {
    const first = await open()
    expect(await names()).toEqual([CA_SECRET, serverSecretName(addresses), TOKEN_KEYS_SECRET].toSorted())
    const second = await open()
    expect(caOf(second)).toBe(caOf(first))
    expect(second.serverCertificate().certificatePem).toBe(first.serverCertificate().certificatePem)
    expect(first.kubernetes().apiServerName).toBe('127.0.0.1')
    expect(first.kubernetes().caPem).toMatch(/^-----BEGIN CERTIFICATE-----/)
    expect(warnings).toEqual([])
  })

  it('issues a server certificate that edges will believe', async () => {
    const cluster = await open({ addresses: ['HUB.example', '127.0.0.1', '0:0::1'] })
    const [certificate] = cluster.serverCertificate().chain
    expect(certificate.names).toMatchObject({ dnsNames: ['hub.example'], ipAddresses: ['127.0.0.1', '::1'] })
    const { trust } = cluster.authority()
    for (const host of ['hub.example', '127.0.0.1', '::1'])
      expect(verifyCertificate(certificate, { trust, usage: 'serverAuth', atMs: systemClock.nowMs(), host }).ok).toBe(
        true,
      )
    expect(verifyCertificate(certificate, { trust, usage: 'clientAuth', atMs: systemClock.nowMs() }).ok).toBe(false)
  })

  it('gives hubs of other addresses certificates of their own', async () => {
    await open({ addresses: ['a.example'] })
    await open({ addresses: ['b.example'] })
    expect((await names()).filter((name) => name.startsWith('causeway-server-'))).toHaveLength(2)
  })

  it('needs an address', async () => {
    await expect(open({ addresses: [] })).rejects.toThrow(/--advertise/)
    expect(await exists()).toBe(false)
  })

  it('ends in one CA, one token key and one cluster id when five hubs start at the same instant', async () => {
    for (let round = 0; round < (isLong ? 100 : 4); round++) {
      namespace = `race-${count}-${round}`
      const clients = Array.from({ length: 5 }, () => server.client())
      const clusters = await Promise.all(clients.map((client) => open({ client })))
      expect(new Set(clusters.map(caOf)).size).toBe(1)
      expect(new Set(clusters.map((cluster) => cluster.serverCertificate().certificatePem)).size).toBe(1)
      expect(await names()).toHaveLength(3)
      const keys = Object.keys((await secret(TOKEN_KEYS_SECRET)).data ?? {})
      expect(keys.filter((name) => name.startsWith('key.'))).toHaveLength(1)
      expect(await clusterId()).toMatch(/^[0-9a-f]{32}$/)
      await Promise.all(clients.map((client) => client.close()))
    }
  })
})

describe('a hub that dies while it starts', () => {
  it.each(['lost-request', 'lost-answer'] as const)(
    'at any request (%s) starts the next time, with one of each',
    async (fate) => {
      for (let lost = 0; ; lost++) {
        namespace = `fault-${count}-${lost}`
        const fateOf = (index: number): Fate => (index === lost ? fate : 'pass')
        const transport = new UnreliableTransport(server.connection, fateOf)
        const broken = await open({ client: server.client(transport) }).then(
          () => undefined,
          (error: unknown) => error as Error,
        )
        if (transport.asked.length <= lost) {
          expect(broken).toBeUndefined()
          expect(lost).toBeGreaterThan(8)
          return
        }
        expect(broken?.message).toMatch(/^cannot .*: the API server cannot be reached/)
        const before = (await exists()) ? await names() : []
        const ca = before.includes(CA_SECRET) ? (await secret(CA_SECRET)).data?.['tls.crt'] : undefined
        const cluster = await open()
        const pem = certificatePem(cluster.authority().signing.certificate)
        if (ca !== undefined) expect(Buffer.from(ca, 'base64').toString()).toBe(pem)
        expect(await names()).toHaveLength(3)
      }
    },
  )
})

describe('a CA from files', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  const forms: [string, KeyObject, 'pkcs1' | 'pkcs8' | 'sec1'][] = [
    ['RSA, PKCS#1', rsa, 'pkcs1'],
    ['RSA, PKCS#8', rsa, 'pkcs8'],
    ['EC, SEC1', ec, 'sec1'],
    ['EC, PKCS#8', ec, 'pkcs8'],
  ]
  it.each(forms)('signs: %s', async (_what, key, type) => {
    const ca = await makeCa(systemClock, dayMs, key)
    const pem = key.export({ type, format: 'pem' } as { type: 'pkcs8'; format: 'pem' }) as string
    const cluster = await open({ caFiles: writeCa(ca, pem) })
    expect(caOf(cluster)).toBe(ca.certificate.fingerprint)
    const [certificate] = cluster.serverCertificate().chain
    const checks = { trust: [ca.certificate], usage: 'serverAuth', atMs: systemClock.nowMs() } as const
    expect(verifyCertificate(certificate, checks).ok).toBe(true)
    // The operator keeps the key; the cluster must not have a copy.
    expect(await names()).not.toContain(CA_SECRET)
    const published = await admin.resource(configMaps).in(namespace).get(CLUSTER_CONFIG_MAP)
    expect(published.data?.['hub-ca.crt']).toBe(certificatePem(ca.certificate))
  })

  it('wins over the one in the cluster, with a word about it', async () => {
    await open()
    const ca = await makeCa()
    const cluster = await open({ caFiles: writeCa(ca) })
    expect(caOf(cluster)).toBe(ca.certificate.fingerprint)
    expect(warnings.join()).toContain('the Secret holds another CA')
  })

  it('that is below another sends itself along with what it signs', async () => {
    const root = await makeCa()
    const keys = await generateKeys()
    const life = validityFromNow(systemClock, dayMs / 2)
    const template = { subject: userName('hub CA'), ca: { pathLength: 0 }, ...life }
    const certificate = await issueCertificate(root, template, keys.publicKey)
    const files = {
      certificate: write('ca.crt', certificatePem(certificate, root.certificate)),
      key: write('ca.key', privateKeyPem(keys.privateKey)),
    }
    const cluster = await open({ caFiles: files })
    expect(cluster.authority().trust.map(({ fingerprint }) => fingerprint)).toEqual([certificate.fingerprint])
    expect(cluster.authority().chainAbove.map(({ fingerprint }) => fingerprint)).toEqual([
      certificate.fingerprint,
      root.certificate.fingerprint,
    ])
    expect(cluster.serverCertificate().chain).toHaveLength(3)
  })

  it('trusts those before it during a roll-over', async () => {
    const [old, fresh] = [await makeCa(), await makeCa()]
    const previous = write('previous.crt', certificatePem(old.certificate))
    const cluster = await open({ caFiles: { ...writeCa(fresh), previous } })
    expect(cluster.authority().trust.map(({ fingerprint }) => fingerprint)).toEqual([
      fresh.certificate.fingerprint,
      old.certificate.fingerprint,
    ])
  })

  type Files = NonNullable<OpenClusterOptions['caFiles']>
  const mistakes: [string, () => Promise<Files>, RegExp][] = [
    [
      'neither file',
      async () => ({ certificate: join(folder, 'a'), key: join(folder, 'b') }),
      /neither .*a nor .*b exists/,
    ],
    [
      'the certificate alone',
      async () => ({ ...writeCa(await makeCa()), key: join(folder, 'none') }),
      /ca\.crt exists, but .*none does not/,
    ],
    [
      'the key alone',
      async () => ({ ...writeCa(await makeCa()), certificate: join(folder, 'none') }),
      /ca\.key exists, but .*none does not/,
    ],
    [
      'the key of another',
      async () => writeCa(await makeCa(), privateKeyPem((await generateKeys()).privateKey)),
      /ca\.key does not belong to .*ca\.crt/,
    ],
    [
      'an expired CA',
      async () => writeCa(await makeCa(new ManualClock(Date.UTC(2020, 0, 1)))),
      /their CA in .*ca\.crt expired at 2020-01-02T00:00:00.000Z/,
    ],
    [
      'a CA of the future',
      async () => writeCa(await makeCa(new ManualClock(Date.UTC(2099, 0, 1)))),
      /ca\.crt is not valid before 2098-12-31/,
    ],
    [
      'a certificate that is no CA',
      async () => {
        const { privateKey, publicKey } = await generateKeys()
        const template = { subject: userName('leaf'), ...validityFromNow(systemClock, dayMs / 2) }
        return writeCa({ certificate: await issueCertificate(await makeCa(), template, publicKey), privateKey })
      },
      /ca\.crt: CN=leaf is not the certificate of a CA/,
    ],
    [
      'a CA for other purposes',
      async () => {
        const { privateKey } = await generateKeys()
        const life = validityFromNow(systemClock, dayMs)
        const template = { subject: userName('mail CA'), extendedKeyUsages: ['emailProtection'], ...life } as const
        return writeCa(await issueSelfSignedCa(template, privateKey))
      },
      /ca\.crt cannot sign for clientAuth/,
    ],
    [
      'no PEM',
      async () => ({ ...writeCa(await makeCa()), certificate: write('x.crt', 'hello') }),
      /x\.crt holds no certificate/,
    ],
    ['a folder', async () => ({ ...writeCa(await makeCa()), certificate: folder }), /cannot read .*it is a folder/],
    [
      'a path through a file',
      async () => ({ ...writeCa(await makeCa()), key: join(write('file', ''), 'ca.key') }),
      /cannot read .*ca\.key: a part of the path is a file/,
    ],
    [
      'a bundle that is missing',
      async () => ({ ...writeCa(await makeCa()), previous: join(folder, 'none') }),
      /none does not exist/,
    ],
  ]
  it.each(mistakes)('with a mistake changes nothing and says so: %s', async (_what, files, problem) => {
    await expect(open({ caFiles: await files() })).rejects.toThrow(problem)
    expect(await exists()).toBe(false)
  })
})

describe('a server certificate from files', () => {
  async function serverFiles(ca: CertificateAuthority, names: readonly string[], usage: 'serverAuth' | 'clientAuth') {
    const { privateKey, publicKey } = await generateKeys()
    const life = validityFromNow(systemClock, dayMs / 2)
    const template = { subject: userName('hub'), names: { dnsNames: names }, extendedKeyUsages: [usage], ...life }
    const certificate = await issueCertificate(ca, template, publicKey)
    return { certificate: write('s.crt', certificatePem(certificate)), key: write('s.key', privateKeyPem(privateKey)) }
  }

  it('is used as it is', async () => {
    const ca = await makeCa()
    const files = await serverFiles(ca, ['hub.example'], 'serverAuth')
    const cluster = await open({ caFiles: writeCa(ca), serverFiles: files, addresses: ['hub.example'] })
    expect(cluster.serverCertificate().chain[0].names.dnsNames).toEqual(['hub.example'])
    expect(await names()).toEqual([TOKEN_KEYS_SECRET])
  })

  it.each([
    ['of another CA', async () => await serverFiles(await makeCa(), ['hub.example'], 'serverAuth'), /s\.crt cannot be/],
    [
      'for another host',
      async (ca: CertificateAuthority) => await serverFiles(ca, ['x.example'], 'serverAuth'),
      /not for hub/,
    ],
    [
      'for clients',
      async (ca: CertificateAuthority) => await serverFiles(ca, ['hub.example'], 'clientAuth'),
      /clientAuth/,
    ],
  ])('%s is refused before anything is written', async (_what, make, problem) => {
    const ca = await makeCa()
    const files = await make(ca)
    await expect(open({ caFiles: writeCa(ca), serverFiles: files, addresses: ['hub.example'] })).rejects.toThrow(
      problem,
    )
    expect(await exists()).toBe(false)
  })
})

describe('what stands in the cluster', () => {
  const put = async (name: string, data: Record<string, string>): Promise<void> => {
    const there = admin.resource(secrets).in(namespace)
    const encoded = Object.entries(data).map(([field, text]) => [field, Buffer.from(text).toString('base64')])
    await there.update({ ...(await there.get(name)), data: Object.fromEntries(encoded) as Record<string, string> })
  }

  it('is refused by name when the CA is damaged, and never replaced', async () => {
    await open()
    const { data } = await secret(CA_SECRET)
    const pem = Buffer.from(data?.['tls.crt'] ?? '', 'base64').toString()
    await put(CA_SECRET, { 'tls.crt': pem, 'tls.key': privateKeyPem((await generateKeys()).privateKey) })
    const source = `Secret ${namespace}/causeway-ca`
    await expect(open()).rejects.toThrow(`the key in tls.key of ${source} does not belong to tls.crt of ${source}`)
    await put(CA_SECRET, { 'tls.crt': pem, 'tls.key': '' })
    await expect(open()).rejects.toThrow(`${source} is damaged: it has no field tls.key`)
    await put(TOKEN_KEYS_SECRET, { current: 'x' })
    await put(
      CA_SECRET,
      Object.fromEntries(
        Object.entries(data ?? {}).map(([name, text]) => [name, Buffer.from(text, 'base64').toString()]),
      ),
    )
    await expect(open()).rejects.toThrow(/causeway-token-keys is damaged: its current key "x" is not in it/)
  })

  it('is explained to who lacks a right', async () => {
    await expect(open({ client: server.clientOf('nobody') })).rejects.toThrow(
      /cannot load the CA from Secret .*User "nobody" cannot get resource "secrets".*deploy\/hub-rbac\.yaml/,
    )
    await grant('looker', [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }])
    await expect(open({ client: server.clientOf('looker') })).rejects.toThrow(
      `namespace ${namespace} does not exist and the hub may not create it`,
    )
  })

  it('is enough for who may only use what is there', async () => {
    const first = await open()
    await grant('reader', [
      { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
    ])
    expect(caOf(await open({ client: server.clientOf('reader') }))).toBe(caOf(first))
  })

  it('tells whether there is a Node', async () => {
    const cluster = await open()
    await admin.resource(nodes).create({ metadata: { name: `node-${namespace}` } })
    await expect(cluster.nodes.exists(`node-${namespace}`)).resolves.toBe(true)
    await expect(cluster.nodes.exists('nowhere')).resolves.toBe(false)
    const forbidden = new KubernetesNodes(server.clientOf('nobody'))
    await expect(forbidden.exists('nowhere')).rejects.toMatchObject({ code: 'cluster-unavailable', status: 503 })
  })

  it('is not asked for at an address where no API server listens', async () => {
    const transport = new UnreliableTransport({ ...server.connection, server: 'https://127.0.0.1:1' }, () => 'pass')
    await expect(open({ client: server.client(transport) })).rejects.toThrow(
      /cannot look for namespace .*: the API server cannot be reached: .*127\.0\.0\.1:1/,
    )
  })
})
