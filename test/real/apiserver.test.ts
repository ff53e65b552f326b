/**
 * Our API server with the real clients: kubectl through everything that people do daily, and a kube-controller-manager
 * that must find everything it needs.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { removeFolder } from '../remove-folder.ts'
import { peersDirectory } from './control-plane.ts'
import { describeReal, kubectl } from './harness.ts'

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

describeReal('causeway apiserver with real clients', () => {
  let folder: string
  let server: string
  const children: ChildProcess[] = []

  const run = (line: string, input = ''): Promise<string> =>
    kubectl({ kubeconfigFile: join(folder, 'admin.kubeconfig') }, words(line), input)

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'causeway-real-own-'))
    const flags = ['--data-dir', folder, '--secure-port', '0', '--health-address', '127.0.0.1:0']
    const child = spawn(process.execPath, [command, 'apiserver', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`causeway ended with ${String(code)}`)))
    ended.catch(() => {})
    let printed = ''
    while (!/^ready /m.test(printed)) {
      const [text] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer]
      printed += text.toString()
    }
    server = /https:\S+/.exec(printed)?.[0] ?? ''
  })

  afterAll(async () => {
    for (const child of children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    }
    removeFolder(folder)
  })

  it('has what a cluster has from the start', async () => {
    expect(words(await run('get namespaces -o name'))).toEqual(
      ['default', 'kube-node-lease', 'kube-public', 'kube-system'].map((name) => `namespace/${name}`),
    )
    expect(await run('get service kubernetes -o jsonpath={.spec.clusterIP}')).toBe('10.96.0.1')
    expect(await run('wait --for=create serviceaccount/default configmap/kube-root-ca.crt --timeout=120s')).toContain(
      'condition met',
    )
  })

  it('creates, applies, labels, scales, patches, explains, diffs and deletes', async () => {
    const manifest = (value: string): string =>
      `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: "${value}"}}`
    expect(await run('apply -f -', manifest('1'))).toBe('configmap/c created\n')
    expect(await run('apply -f -', manifest('2'))).toBe('configmap/c configured\n')
    expect(await run('apply -f -', manifest('2'))).toBe('configmap/c unchanged\n')
    await expect(run('diff -f -', manifest('3'))).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('+  a: "3"'),
    })
    expect(await run('label configmap c l=1')).toBe('configmap/c labeled\n')
    expect(await run('patch configmap c --type=json -p [{"op":"remove","path":"/data/a"}]')).toBe(
      'configmap/c patched\n',
    )
    expect(await run('create deployment d --image=i --replicas=1')).toBe('deployment.apps/d created\n')
    expect(await run('scale deployment d --replicas=3')).toBe('deployment.apps/d scaled\n')
    expect(await run('get deployment d')).toMatch(/^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nd +0\/3 /)
    expect(await run('explain pod.spec.containers')).toContain('<[]Container>')
    expect(await run('delete configmap c')).toContain('"c" deleted')
    await expect(run('get configmap c')).rejects.toMatchObject({
      stderr: expect.stringContaining('(NotFound): configmaps "c" not found'),
    })
  })

  it('refuses mistakes in the words of the API', async () => {
    await expect(
      run(
        'create -f -',
        '{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, colour: red}]}}',
      ),
    ).rejects.toMatchObject({
      stderr: expect.stringContaining('unknown field "spec.containers[0].colour"'),
    })
    await expect(run('create configmap Bad_Name')).rejects.toMatchObject({
      stderr: expect.stringContaining('a lowercase RFC 1123 subdomain must consist of'),
    })
  })

  it('tells who may do what, and makes tokens that work', async () => {
    expect(await run('auth can-i delete nodes')).toBe('yes\n')
    await expect(run('auth can-i delete nodes --as=system:serviceaccount:default:default')).rejects.toMatchObject({
      stdout: 'no\n',
    })
    const token = (await run('create token default')).trim()
    // Without the administrator's certificate, which would win over any token.
    const bare = ['--server', server, '--certificate-authority', join(folder, 'ca.crt'), '--token', token]
    const asAccount = (line: string): Promise<string> =>
      kubectl({ kubeconfigFile: '/dev/null' }, [...bare, ...words(line)])
    expect(await asAccount('auth whoami -o jsonpath={.status.userInfo.username}')).toBe(
      'system:serviceaccount:default:default',
    )
    await expect(asAccount('get pods')).rejects.toMatchObject({ stderr: expect.stringContaining('(Forbidden)') })
  })

  it('signs certificates that were approved', async () => {
    const csr = join(folder, 'client.csr')
    const key = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      join(folder, 'client.key'),
    ]
    execFileSync('openssl', ['req', '-new', ...key, '-subj', '/CN=jane', '-out', csr], { stdio: 'ignore' })
    const spec = {
      request: readFileSync(csr).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
    }
    const object = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'jane' },
      spec,
    }
    await run('create -f -', JSON.stringify(object))
    expect(await run('certificate approve jane')).toContain('approved')
    await run('wait --for=jsonpath={.status.certificate} csr/jane --timeout=120s')
    const certificate = Buffer.from(await run('get csr jane -o jsonpath={.status.certificate}'), 'base64')
    expect(new X509Certificate(certificate).subject).toBe('CN=jane')
  })

  it('serves a kube-controller-manager: a Deployment gets its Pods, a namespace goes away', async () => {
    const file = (name: string): string => join(folder, name)
    const manager = spawn(
      join(peersDirectory(), 'kube-controller-manager'),
      [
        `--kubeconfig=${file('admin.kubeconfig')}`,
        `--service-account-private-key-file=${file('service-account.key')}`,
        `--root-ca-file=${file('ca.crt')}`,
        '--leader-elect=false',
        '--secure-port=0',
      ],
      { stdio: 'ignore' },
    )
    children.push(manager)
    expect(await run('wait --for=jsonpath={.status.replicas}=3 deployment/d --timeout=120s')).toContain('condition met')
    expect((await run('get pods -l app=d -o name')).trim().split('\n')).toHaveLength(3)
    await run('create namespace n')
    await run('create configmap c -n n')
    expect(await run('delete namespace n --timeout=120s')).toContain('"n" deleted')
  })
}, ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])

function words(line: string): string[] {
  return line.trim().split(/\s+/)
}
