import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_MATERIAL_BYTES, readMaterial } from './connection.ts'
import { loadConnection } from './default-connection.ts'
import { loadInClusterConfig } from './in-cluster.ts'
import { loadKubeconfig } from './kubeconfig.ts'
import { MAX_KUBECONFIG_BYTES } from './kubeconfig-file.ts'

let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'causeway-kubeconfig-'))
})

afterAll(async () => {
  await rm(directory, { recursive: true })
})

async function write(name: string, content: string): Promise<string> {
  const file = join(directory, name)
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(file, content)
  return file
}

/** A kubeconfig with one context, and room for what a test is about. */
function minimal(cluster: string, user = '{}', context = 'cluster: c, user: u'): string {
  return `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: ${cluster}}]
users: [{name: u, user: ${user}}]
contexts: [{name: x, context: {${context}}}]
current-context: x
`
}

/** Nine times nine times nine ... */
const aliasBomb = ['b', 'c', 'd', 'e', 'f', 'g']
  .map((name, index) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdef'[index]}`).join()}]`)
  .reduce((text, line) => `${text}\n${line}`, 'a: &a [x, x, x, x, x, x, x, x, x]')

const base64 = (text: string): string => Buffer.from(text).toString('base64')

describe('kubeconfig', () => {
  it('reads a connection with everything inline', async () => {
    const cluster = `{server: "https://api:6443/base/", certificate-authority-data: ${base64('CA')}, tls-server-name: kubernetes}`
    const user = `{client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')}, token: secret}`
    const file = await write('inline', minimal(cluster, user, 'cluster: c, user: u, namespace: team'))
    expect(await loadKubeconfig({ file })).toEqual({
      source: `context "x" of ${file}`,
      server: 'https://api:6443/base',
      namespace: 'team',
      tls: {
        skipVerify: false,
        serverName: 'kubernetes',
        ca: { data: Buffer.from('CA') },
        clientCertificate: { certificate: { data: Buffer.from('CERT') }, key: { data: Buffer.from('KEY') } },
      },
      credentials: { type: 'token', token: { data: Buffer.from('secret') } },
    })
  })

  it('finds files relative to the kubeconfig, inline data winning over them', async () => {
    const cluster = `{server: "https://api", certificate-authority: pki/ca.crt}`
    const user = `{client-certificate: ../me.crt, client-key: /abs/me.key, client-key-data: ${base64('KEY')}, tokenFile: tokens/me, token: old}`
    const file = await write('sub/relative', minimal(cluster, user))
    const { tls, credentials, namespace } = await loadKubeconfig({ file })
    expect(tls.ca).toEqual({ file: join(directory, 'sub/pki/ca.crt') })
    expect(tls.clientCertificate?.certificate).toEqual({ file: join(directory, 'me.crt') })
    expect(tls.clientCertificate?.key).toEqual({ data: Buffer.from('KEY') })
    expect(credentials).toEqual({ type: 'token', token: { file: join(directory, 'sub/tokens/me') } })
    expect(namespace).toBe('default')
  })

  it('merges the files of KUBECONFIG: the first word on every name counts, missing files do not', async () => {
    const first = await write('one', minimal('{server: "https://first"}').replace('current-context: x', ''))
    const second = await write(
      'two',
      `${minimal('{server: "https://second"}', '{token: other}')}
extensions: [{name: anything, extension: {}}]
`.replace('{name: x, ', '{name: y, context: {cluster: c, user: u, namespace: two}}, {name: x, '),
    )
    const environment = { KUBECONFIG: ['', join(directory, 'missing'), first, second].join(delimiter) }
    expect(await loadKubeconfig({ environment })).toMatchObject({
      server: 'https://first',
      credentials: { type: 'anonymous' },
    })
    expect(await loadKubeconfig({ environment, context: 'y' })).toMatchObject({
      server: 'https://first',
      namespace: 'two',
    })
  })

  it('looks into the home directory without KUBECONFIG', async () => {
    await write('home/.kube/config', minimal('{server: "https://home"}'))
    const environment = { HOME: join(directory, 'home') }
    expect(await loadKubeconfig({ environment })).toMatchObject({ server: 'https://home' })
    expect(await loadConnection({ environment })).toMatchObject({ server: 'https://home' })
  })

  it('reads impersonation and user names', async () => {
    const user =
      '{username: joe, password: "p:w", as: jane, as-uid: "7", as-groups: [devs], as-user-extra: {scopes: [a, b]}}'
    const file = await write('impersonate', minimal('{server: "http://api"}', user))
    expect(await loadKubeconfig({ file })).toMatchObject({
      credentials: { type: 'basic', username: 'joe', password: 'p:w' },
      impersonation: { user: 'jane', uid: '7', groups: ['devs'], extra: { scopes: ['a', 'b'] } },
    })
  })

  const ok = '{server: "https://api"}'
  it.each([
    ['exec plugins', minimal(ok, '{exec: {command: aws}}'), 'user "u": uses exec: credential plugins are not run'],
    ['auth providers', minimal(ok, '{auth-provider: {name: gcp}}'), 'user "u": uses auth-provider'],
    ['proxies', minimal('{server: "https://api", proxy-url: "http://p"}'), 'cluster "c": proxy-url is not supported'],
    ['a cluster without server', minimal('{}'), 'cluster "c": has no server'],
    [
      'a server that is no address',
      minimal('{server: "api:6443"}'),
      'cluster "c": server is "api:6443"; expected an https:// or http:// address',
    ],
    [
      'a password in the address',
      minimal('{server: "https://me:secret@api"}'),
      'must not carry credentials, a query or a fragment: https://api',
    ],
    [
      'a dangling cluster',
      minimal(ok, '{}', 'cluster: other'),
      'context "x": names cluster "other", which no file defines',
    ],
    [
      'a dangling user',
      minimal(ok, '{}', 'cluster: c, user: other'),
      'context "x": names user "other", which no file defines',
    ],
    ['a context without cluster', minimal(ok, '{}', 'user: u'), 'context "x": names no cluster'],
    [
      'a missing context',
      minimal(ok).replace('current-context: x', 'current-context: z'),
      'no context "z"; known contexts: x',
    ],
    [
      'no current context',
      minimal(ok).replace('current-context: x', ''),
      'no current-context; name one of the contexts: x',
    ],
    [
      'two entries of one name',
      minimal(ok).replace('{name: c,', '{name: c}, {name: c,'),
      'clusters has two entries named "c"',
    ],
    ['an entry without name', minimal(ok).replace('{name: u,', '{'), 'users[0] needs a name'],
    [
      'a list that is none',
      minimal(ok).replace('users: [', 'users: {a: ').replace('user: {}}]', 'user: {}}}'),
      'users must be a list',
    ],
    [
      'half a client certificate',
      minimal(ok, `{client-key-data: ${base64('K')}}`),
      'user "u": has a client key without a certificate',
    ],
    [
      'base64 that is none',
      minimal('{server: "https://api", certificate-authority-data: "%%"}'),
      'cluster "c": certificate-authority-data is not base64',
    ],
    [
      'a CA that is not to be used',
      minimal(`{server: "https://api", insecure-skip-tls-verify: true, certificate-authority: ca}`),
      'exclude each other',
    ],
    [
      'a flag that is none',
      minimal('{server: "https://api", insecure-skip-tls-verify: "yes"}'),
      'insecure-skip-tls-verify must be true or false, not a string',
    ],
    ['a number for a token', minimal(ok, '{token: 12}'), 'user "u": token must be a string, not a number'],
    ['token and user name', minimal(ok, '{token: t, username: u}'), 'has both a token and a user name'],
    ['groups without a user to impersonate', minimal(ok, '{as-groups: [a]}'), 'need a user to impersonate'],
    ['text that is not YAML', 'a: [', 'not valid YAML: '],
    ['two documents', 'kind: Config\n---\nkind: Config', 'not valid YAML: more than one document'],
    ['a key given twice', 'clusters: []\nclusters: []', 'not valid YAML: the key "clusters" is given twice'],
    ['YAML nested without end', '['.repeat(100_000), 'not valid YAML: '],
    ['a list at the top', '[]', 'expected a map at the top, not a list'],
    ['another kind', 'kind: Pod', 'kind is Pod; expected Config'],
    ['another version', 'apiVersion: v2', 'apiVersion is v2; expected v1'],
    ['a file without end', `# ${'x'.repeat(MAX_KUBECONFIG_BYTES)}`, `larger than ${MAX_KUBECONFIG_BYTES} bytes`],
    ['YAML aliases that explode', aliasBomb, 'not valid YAML: Excessive alias count'],
  ])('refuses %s and says where', async (_what, content, message) => {
    const file = await write('bad', content)
    await expect(loadKubeconfig({ file })).rejects.toThrow(message)
    await expect(loadKubeconfig({ file })).rejects.toThrow(file)
  })

  it('reads from nothing that has no end, or may never have one', async () => {
    const pipe = join(directory, 'pipe')
    execFileSync('mkfifo', [pipe])
    for (const file of ['/dev/zero', pipe, directory]) {
      await expect(loadKubeconfig({ file })).rejects.toThrow(`cannot read kubeconfig ${file}: not a regular file`)
    }
    const token = readMaterial({ file: '/dev/zero' }, 'the bearer token')
    await expect(token).rejects.toThrow('cannot read the bearer token from /dev/zero: not a regular file')
    const large = await write('large', 'x'.repeat(MAX_MATERIAL_BYTES + 1))
    await expect(readMaterial({ file: large }, 'the key')).rejects.toThrow(`larger than ${MAX_MATERIAL_BYTES} bytes`)
  })

  it('says which files it looked for', async () => {
    const file = join(directory, 'nothing')
    await expect(loadKubeconfig({ file })).rejects.toThrow(`cannot read kubeconfig ${file}: ENOENT`)
    await expect(loadKubeconfig({ environment: { KUBECONFIG: file } })).rejects.toThrow(
      `no kubeconfig found; looked for ${file}`,
    )
    await expect(loadConnection({ environment: { KUBECONFIG: file } })).rejects.toThrow(
      'nor is this a pod; set KUBECONFIG',
    )
  })
})

describe('in-cluster configuration', () => {
  const environment = {
    KUBERNETES_SERVICE_HOST: 'fd00::1',
    KUBERNETES_SERVICE_PORT: '443',
    KUBECONFIG: '/does/not/exist',
  }

  it('reads the environment and the mounted service account', async () => {
    const mount = join(directory, 'serviceaccount')
    for (const [name, content] of Object.entries({ token: 't', 'ca.crt': 'CA', namespace: 'team\n' })) {
      await write(`serviceaccount/${name}`, content)
    }
    expect(await loadInClusterConfig({ environment, directory: mount })).toEqual({
      source: 'in-cluster environment',
      server: 'https://[fd00::1]',
      namespace: 'team',
      tls: { ca: { file: join(mount, 'ca.crt') }, skipVerify: false },
      credentials: { type: 'token', token: { file: join(mount, 'token') } },
    })
  })

  it('says what is missing', async () => {
    await expect(loadInClusterConfig({ environment: {} })).rejects.toThrow('not inside a cluster')
    const empty = join(directory, 'empty')
    await expect(loadInClusterConfig({ environment, directory: empty })).rejects.toThrow(
      `cannot read ${join(empty, 'token')}: ENOENT; is a service account mounted`,
    )
  })
})
