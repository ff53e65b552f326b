/** How `causeway apiserver` serves: who may do what, what it writes down, and what it refuses to start with. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endAll, type Launched, launch, makeWorkingDir, run } from './harness.ts'

let workingDir: string
const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })

beforeEach(() => {
  workingDir = makeWorkingDir()
  writeFileSync(join(workingDir, 'tokens.csv'), 'bob-token,bob,1\n')
})
afterEach(endAll)

const storage = ['--storage', 'memory', '--data-dir', 'data']
const flags = [...storage, '--secure-port', '0', '--health-address', '127.0.0.1:0', '--token-auth-file', 'tokens.csv']

async function start(...more: string[]): Promise<{ server: Launched; url: string }> {
  const server = launch(['apiserver', ...flags, ...more], { workingDir })
  const [, url = ''] = await server.shows(/^ready .* on (https:\/\/\S+)\n/m)
  return { server, url }
}

async function get(url: string, token = ''): Promise<{ status: number; text: string }> {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
  const { statusCode, body } = await request(url, { dispatcher, headers })
  return { status: statusCode, text: await body.text() }
}

describe('causeway apiserver', () => {
  it('lets everybody with a name do anything, if told so', async () => {
    const { url } = await start('--authorization-mode', 'RBAC,AlwaysAllow')
    expect((await get(`${url}/api/v1/secrets`, 'bob-token')).status).toBe(200)
    expect((await get(`${url}/api/v1/secrets`)).status).toBe(401)
  })

  it('lets nobody but administrators do anything, if told so', async () => {
    const { url } = await start('--authorization-mode', 'AlwaysDeny')
    const { status, text } = await get(`${url}/version`, 'bob-token')
    expect(status).toBe(403)
    expect(text).toContain('Everything is forbidden.')
  })

  it('writes audit events to standard output', async () => {
    const { server, url } = await start('--audit-log-path', '-')
    await get(`${url}/api/v1/nodes`, 'bob-token')
    const [line] = await server.shows(/^\{"kind":"Event","apiVersion":"audit\.k8s\.io\/v1".*"bob".*$/m)
    expect(JSON.parse(line)).toMatchObject({
      verb: 'list',
      objectRef: { resource: 'nodes' },
      responseStatus: { code: 403 },
    })
    expect(server.stdout).not.toContain('bob-token')
  })

  it('tells the same metrics on its own port as on the health port', async () => {
    const { server, url } = await start('--authorization-mode', 'AlwaysAllow')
    await get(`${url}/api/v1/nodes`, 'bob-token')
    const line = /^apiserver_request_total\{verb="LIST",.*resource="nodes",.*code="200"\} 1$/m
    // A request counts once it is over for the server, which is after the client has its answer.
    await expect.poll(async () => (await get(`${url}/metrics`, 'bob-token')).text).toMatch(line)
    expect((await get(`${await server.healthUrl()}/metrics`)).text).toMatch(line)
  })

  it.each<[string, string[], RegExp]>([
    [
      'a token file that is not there',
      ['--token-auth-file', 'nope'],
      /^error: cannot read the token file .*nope: there is no such file\n/,
    ],
    [
      'a CA file of etcd that is not there',
      ['--etcd-servers', 'https://127.0.0.1:1', '--etcd-cafile', 'nope'],
      /"msg":"cannot read the CA file of etcd .*nope: there is no such file"/,
    ],
    [
      'a token file that is a folder',
      ['--token-auth-file', '.'],
      /^error: cannot read the token file .*: it is a folder, not a file\n/,
    ],
    [
      'a token file that never ends',
      ['--token-auth-file', 'pipe'],
      /^error: cannot read the token file .* a pipe, .* not a file\n/,
    ],
    [
      'a token file that is too large',
      ['--token-auth-file', 'large'],
      /^error: the token file .* is larger than 4194304 bytes\n/,
    ],
    ['a CA file without a certificate', ['--client-ca-file', 'tokens.csv'], /tokens\.csv holds no certificate/],
    [
      'an audit log that cannot be written',
      ['--audit-log-path', 'folder'],
      /cannot write the audit log .*folder: it is a folder/,
    ],
  ])('does not start with %s', async (_what, more, message) => {
    execFileSync('mkfifo', [join(workingDir, 'pipe')])
    mkdirSync(join(workingDir, 'folder'))
    writeFileSync(join(workingDir, 'large'), Buffer.alloc(5 * 1024 * 1024, 'x'))
    const ports = ['--secure-port', '0', '--health-address', '127.0.0.1:0']
    const { code, stderr } = await run(['apiserver', ...storage, ...ports, ...more], { workingDir })
    expect(stderr).toMatch(message)
    expect(code).toBe(1)
  })

  it.each([
    ['Node,ABAC', '"ABAC" is none of them'],
    ['RBAC,RBAC', '"RBAC" stands there more than once'],
  ])('refuses --authorization-mode %s', async (modes, reason) => {
    const { code, stderr } = await run(['apiserver', '--authorization-mode', modes], { workingDir })
    expect(stderr).toContain(reason)
    expect(code).toBe(2)
  })
})
