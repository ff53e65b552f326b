/**
 * How our API server serves, beside the real one: methods and paths, what the TLS handshake asks for, the names of the
 * metrics and the shape of audit events.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { removeFolder } from '../remove-folder.ts'
import { type ControlPlane, describeReal, startControlPlane } from './harness.ts'

const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const token = 'serving-test-token'

const namespace = '/api/v1/namespaces/default'

/** Paths of every kind. Those that delete much are left out of DELETE. */
const paths = [
  `${namespace}/configmaps`,
  `${namespace}/configmaps/x`,
  '/api/v1/configmaps',
  '/api/v1/configmaps/x',
  '/api/v1/nodes',
  '/api/v1/nodes/x',
  '/api/v1/nodes/x/status',
  `${namespace}/nodes`,
  namespace,
  '/api/v1/namespaces/nope/finalize',
  `${namespace}/pods/x/eviction`,
  `${namespace}/pods/x/log`,
  `${namespace}/pods/x/log/more`,
  `${namespace}/pods/x/binding`,
  `${namespace}/pods/x/unknown`,
  `${namespace}/bindings`,
  '/api/v1/bindings',
  `${namespace}/unknowns`,
  '/api/v1/unknowns',
  '/api/v1/componentstatuses',
  `${namespace}/serviceaccounts/default/token`,
  '/apis/apps/v1/namespaces/default/deployments/x/scale',
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x',
  '/apis/authorization.k8s.io/v1/localsubjectaccessreviews',
  '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews',
  '/api',
  '/api/v1',
  '/api/v2',
  '/api/v2/pods',
  '/apis/apps/v1',
  '/apis/apps/v9',
  '/apis/apps/v9/deployments',
  '/apis/nope',
  '/apis/nope/v1',
  '/apis/nope/v1/x',
  '/healthz',
  '/livez',
  '/readyz',
  '/livez/ping',
  '/livez/nope',
  '/version',
  '/nothing',
]
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const readersOfAll = ['/apis', '/apis/apps', '/openapi/v3/api/v1']

describeReal('serving, beside the real API server', () => {
  let plane: ControlPlane
  let folder: string
  let ours: string
  let child: ChildProcess
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'causeway-serving-'))
    await writeFile(join(folder, 'tokens.csv'), `${token},admin,admin-uid,"system:masters"\n`)
    plane = await startControlPlane()
    const flags = {
      'data-dir': join(folder, 'data'),
      'secure-port': '0',
      'health-address': '127.0.0.1:0',
      storage: 'memory',
      'token-auth-file': join(folder, 'tokens.csv'),
      'client-ca-file': plane.caFile,
      'audit-log-path': join(folder, 'audit.log'),
    }
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])
    child = spawn(process.execPath, [command, 'apiserver', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    const stdout = child.stdout
    if (stdout === null) throw new Error('no standard output')
    let printed = ''
    while (!/^ready /m.test(printed)) printed += String((await once(stdout, 'data'))[0])
    ours = /https:\S+/.exec(printed)?.[0] ?? ''
  })

  afterAll(async () => {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
    await plane.stop()
    removeFolder(folder)
  })

  async function ask(server: string, method: string, path: string, headers: Record<string, string> = {}) {
    const authorization = `Bearer ${server === ours ? token : plane.adminToken}`
    const answer = await request(server + path, {
      method,
      dispatcher,
      headers: { authorization, 'user-agent': 'test', ...headers },
    })
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
  }

  /** What a client can tell of an answer, without the reasons why a body is bad: those are for other suites. */
  async function outline(server: string, method: string, path: string): Promise<object> {
    const { status, headers, text } = await ask(server, method, path)
    const body = status === 404 || status === 405 ? text : ''
    return { status, type: headers['content-type'], allow: headers['allow'], body }
  }

  it.each(paths)('%s has the methods of the real one', async (path) => {
    for (const method of methods) {
      const deletesMuch = method === 'DELETE' && /\/(?:configmaps|nodes|default)$/.test(path)
      if (deletesMuch) continue
      const [real, own] = [await outline(plane.server, method, path), await outline(ours, method, path)]
      expect([method, own]).toEqual([method, real])
    }
  })

  it.each(readersOfAll)('%s is for readers only, where the real one takes every method for a GET', async (path) => {
    expect((await ask(ours, 'GET', path)).status).toBe(200)
    expect((await ask(plane.server, 'POST', path)).status).toBe(200)
    expect((await ask(ours, 'POST', path)).status).toBe(405)
  })

  it('names the client CAs it was given in the handshake', async () => {
    const named = async (server: string): Promise<string[]> => {
      const { host } = new URL(server)
      const text = await new Promise<string>((resolve, reject) => {
        const asked = execFile('openssl', ['s_client', '-connect', host], (error, stdout) =>
          error === null ? resolve(stdout) : reject(error),
        )
        asked.stdin?.end()
      })
      const list = /Acceptable client certificate CA names\n((?:[A-Z]+ ?= ?.*\n)+)/.exec(text)?.[1] ?? ''
      return list.trim().split('\n')
    }
    const real = await named(plane.server)
    expect(real).toHaveLength(1)
    expect(await named(ours)).toEqual(['CN = causeway', 'CN = causeway-front-proxy', ...real])
  })

  it('believes certificates of those CAs', async () => {
    const connect = {
      rejectUnauthorized: false,
      cert: readFileSync(plane.clientCertificateFile),
      key: readFileSync(plane.clientKeyFile),
    }
    const answer = await request(`${ours}/api/v1/nodes`, { dispatcher: new Agent({ connect }) })
    expect(answer.statusCode).toBe(200)
  })

  it('has no metric under a name of the real one that is not there, or is something else', async () => {
    const types = async (server: string): Promise<Map<string, string>> => {
      await ask(server, 'GET', '/api/v1/nodes')
      const { text } = await ask(server, 'GET', '/metrics')
      const lines = text.matchAll(/^# TYPE (\S+) (\S+)$/gm)
      return new Map([...lines].map(([, name = '', type = '']) => [name, type]))
    }
    const [real, own] = [await types(plane.server), await types(ours)]
    // Without an audit log the real one does not count events that were lost.
    const shared = [...own].filter(
      ([name]) => /^(?:apiserver|auth|etcd)/.test(name) && name !== 'apiserver_audit_error_total',
    )
    expect(shared.length).toBeGreaterThan(8)
    for (const [name, type] of shared) expect([name, real.get(name)]).toEqual([name, type])
  })

  it('counts requests by the labels of the real one', async () => {
    const line = /^apiserver_request_total\{(?=.*resource="namespaces")(?=.*verb="LIST").*\} \d+$/m
    for (const server of [plane.server, ours]) {
      await ask(server, 'GET', '/api/v1/namespaces')
      // A request may be counted after its answer.
      const labels = async (): Promise<object> => {
        const { text } = await ask(server, 'GET', '/metrics')
        const pairs = [...(line.exec(text)?.[0] ?? '').matchAll(/(\w+)="([^"]*)"/g)]
        return Object.fromEntries(pairs.map(([, name, value]) => [name, value]))
      }
      await expect.poll(labels).toMatchObject({
        ...{ code: '200', dry_run: '', group: '', resource: 'namespaces', scope: 'cluster', subresource: '' },
        ...{ verb: 'LIST', version: 'v1' },
      })
    }
  })

  it.each<[type: string, patch: unknown]>([
    ['json-patch', [{ op: 'add', path: '/data/b', value: 'x', extra: 1 }]],
    ['json-patch', [{ op: 'add', path: '/bogus', value: 'x', extra: 1, more: 2 }]],
    ['json-patch', '[{"op":"add","op":"add","path":"/data/b","value":"x"}]'],
    ['json-patch', [{ op: 'replace', path: '/kind', value: 'Nope' }]],
    ['merge-patch', { bogus: 1 }],
    ['merge-patch', '{"data":{"b":"1","b":"2"}}'],
    ['merge-patch', { apiVersion: 'v9' }],
    ['strategic-merge-patch', { bogus: 1 }],
    ['strategic-merge-patch', '{"data":{"b":"1","b":"2"}}'],
    ['strategic-merge-patch', { kind: 'Pod' }],
  ])('reads %s %j as the real one, strictly or not', async (type, patch) => {
    for (const server of [plane.server, ours]) {
      const create = { metadata: { name: 'patched' }, data: { a: '1' } }
      await send(server, 'POST', `${namespace}/configmaps`, 'application/json', create)
    }
    for (const validation of ['Ignore', 'Warn', 'Strict']) {
      const path = `${namespace}/configmaps/patched?dryRun=All&fieldValidation=${validation}`
      const answers = [plane.server, ours].map((server) =>
        send(server, 'PATCH', path, `application/${type}+json`, patch),
      )
      const [real, own] = await Promise.all(answers)
      expect([validation, own]).toEqual([validation, real])
    }
  })

  /** The code, the warnings and, for a refusal, what stands behind the quoted object. */
  async function send(server: string, method: string, path: string, type: string, body: unknown): Promise<object> {
    const answer = await request(server + path, {
      method,
      dispatcher,
      headers: {
        authorization: `Bearer ${server === ours ? token : plane.adminToken}`,
        'content-type': type,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const { message = '' } = (await answer.body.json()) as { message?: string }
    const why = message.slice(message.lastIndexOf('": ') + 1)
    return { status: answer.statusCode, warning: answer.headers['warning'], why }
  }

  it('writes audit events without bodies', async () => {
    const auditId = { 'audit-id': 'serving-audit-test' }
    const body = JSON.stringify({ metadata: { name: 'Bad_Name' }, stringData: { a: 'very-secret-value' } })
    await request(`${ours}${namespace}/secrets`, {
      method: 'POST',
      dispatcher,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'user-agent': 'u', ...auditId },
      body,
    }).then(({ body: answer }) => answer.dump())
    await expect.poll(() => readFileSync(join(folder, 'audit.log'), 'utf8')).toMatch(/serving-audit-test.*\n/)
    const text = readFileSync(join(folder, 'audit.log'), 'utf8')
    expect(text).not.toContain('very-secret-value')
    expect(text).not.toContain(token)
    const line = text.split('\n').find((each) => each.includes('serving-audit-test')) ?? ''
    const time: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(JSON.parse(line)).toEqual({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: 'serving-audit-test',
      stage: 'ResponseComplete',
      requestURI: `${namespace}/secrets`,
      verb: 'create',
      user: { username: 'admin', uid: 'admin-uid', groups: ['system:masters', 'system:authenticated'] },
      sourceIPs: ['127.0.0.1'],
      userAgent: 'u',
      objectRef: { resource: 'secrets', namespace: 'default', apiVersion: 'v1' },
      responseStatus: { metadata: {}, status: 'Failure', reason: 'Invalid', code: 422 },
      requestReceivedTimestamp: time,
      stageTimestamp: time,
      annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' },
    })
  })
})
