/**
 * `causeway run` from outside: a program that knows nothing but what pods know finds the API server and is who it should be. The
 * API server itself stands in for the endpoint of the edge here; what an edge tells through its control socket is played.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ControlSocket } from '../../src/process/control-socket.ts'
import type { RunningPart } from '../../src/process/lifecycle.ts'
import { loudNet } from '../worlds/loud-net.ts'
import { endAll, type Launched, launch, makeWorkingDir, run } from './harness.ts'

/** Asks the API server who it is, with what it finds and nothing else. */
const whoAmI = `
const { readFileSync, statSync } = require('node:fs')
const folder = '/var/run/secrets/kubernetes.io/serviceaccount'
const [token, namespace] = ['token', 'namespace'].map((name) => readFileSync(folder + '/' + name, 'utf8'))
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, KUBECONFIG = 'none' } = process.env
const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const options = { host, port, path, method: 'POST', headers, ca: readFileSync(folder + '/ca.crt') }
require('node:https').request(options, async (answer) => {
  let body = ''
  for await (const part of answer) body += part
  const user = JSON.parse(body).status.userInfo.username
  console.log(JSON.stringify({ user, namespace, KUBECONFIG, uid: process.getuid(), token: token.trim() === token }))
}).end(JSON.stringify({ kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' }))
`

let workingDir: string
let control: RunningPart
let url: URL

// One API server for all: no test changes anything in it.
beforeAll(async () => {
  workingDir = makeWorkingDir()
  const flags = ['--data-dir', 'data', '--storage', 'memory', '--secure-port', '0', '--health-address', '127.0.0.1:0']
  const server = launch(['apiserver', ...flags], { workingDir })
  const [, text = ''] = await server.shows(/^ready .* on (https:\/\/\S+)\n[\s\S]*admin\.kubeconfig\n/)
  url = new URL(text)
})
afterAll(endAll)
beforeEach(async () => {
  control = await tell({ role: 'up', edges: [edge('edge-1')] })
})
afterEach(async () => {
  await control.stop(AbortSignal.abort())
})

function edge(node: string) {
  return { node, hubs: [], endpoint: { addresses: [url.hostname], port: Number(url.port) } }
}

async function tell(status: unknown): Promise<RunningPart> {
  const socket = new ControlSocket(join(workingDir, 'data'), loudNet(), { '/v1/status': () => status })
  return await socket.start(AbortSignal.abort(), () => {})
}

function runArguments(...args: string[]): string[] {
  return ['run', '--data-dir', 'data', ...args]
}

/** Everything temporary goes into a folder that the test can look at. */
function environment(): Record<string, string> {
  const folder = join(workingDir, 'tmp')
  mkdirSync(folder, { recursive: true })
  return { TMPDIR: folder, HOME: workingDir }
}

async function runIn(args: string[], more: Record<string, string> = {}) {
  const result = await run(runArguments(...args), { workingDir, environment: { ...environment(), ...more } })
  expect(readdirSync(join(workingDir, 'tmp'))).toEqual([])
  return result
}

const node = process.execPath
const canMount = spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'true']).status === 0

describe.skipIf(!canMount)('causeway run, as a pod', () => {
  it('lets a program find everything where pods find it', async () => {
    mkdirSync(join(workingDir, '.kube'))
    writeFileSync(join(workingDir, '.kube/config'), 'not for pods')
    const { code, stdout, stderr } = await runIn(['--', node, '-e', whoAmI], { KUBECONFIG: '/nonexistent' })
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toEqual({
      user: 'system:serviceaccount:default:default',
      namespace: 'default',
      KUBECONFIG: 'none',
      uid: process.getuid?.(),
      token: true,
    })
    const { stdout: listed } = await runIn(['--', 'ls', '-A', join(workingDir, '.kube')])
    expect(listed).toBe('')
    expect(readFileSync(join(workingDir, '.kube/config'), 'utf8')).toBe('not for pods')
  })

  it('lets it be another service account, with the token nowhere but in its file', async () => {
    const { stdout } = await runIn(['--service-account', 'kube-system/default', '--', node, '-e', whoAmI])
    expect(JSON.parse(stdout)).toMatchObject({
      user: 'system:serviceaccount:kube-system:default',
      namespace: 'kube-system',
    })
    const { stdout: shown } = await runIn([
      '--',
      'sh',
      '-c',
      'cat /proc/$PPID/cmdline /proc/$$/cmdline /proc/$$/environ',
    ])
    expect(shown).toContain('KUBERNETES_SERVICE_PORT_HTTPS=')
    // How every token begins.
    expect(shown).not.toContain('eyJ')
  })

  it('passes input, arguments and the exit code on', async () => {
    const script = 'console.log(JSON.stringify(process.argv.slice(1))); process.exit(42)'
    const { code, stdout } = await runIn(['--', node, '-e', script, '--', '-n', 'a b', '$(x)', '', '--node'])
    expect(code).toBe(42)
    expect(JSON.parse(stdout)).toEqual(['-n', 'a b', '$(x)', '', '--node'])
    expect((await runIn(['--', 'sh', '-c', 'kill -9 $$'])).code).toBe(137)
  })

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const)('passes %s on and clears up', async (signal, code) => {
    const program: Launched = launch(runArguments('--', 'sh', '-c', 'echo running; exec sleep 1000'), {
      workingDir,
      environment: environment(),
    })
    await program.shows(/running/)
    expect(readdirSync(join(workingDir, 'tmp'))).toHaveLength(1)
    program.kill(signal)
    expect(await program.exited).toEqual({ code, signal: null })
    expect(readdirSync(join(workingDir, 'tmp'))).toEqual([])
  })
})

describe('causeway run, with a kubeconfig', () => {
  it('names it in KUBECONFIG, and removes it', async () => {
    const show = 'cat "$KUBECONFIG"; stat -c %a "$KUBECONFIG"; cat "$(dirname "$KUBECONFIG")/serviceaccount/token"'
    const { code, stdout } = await runIn(['--kubeconfig-only', '--', 'sh', '-c', show], { KUBECONFIG: '/old' })
    expect(code).toBe(0)
    expect(stdout).toContain(`server: ${url.origin}`)
    expect(stdout).toMatch(/^ {6}tokenFile: \/.*\/token$/m)
    expect(stdout).toMatch(/^600\neyJ[^\n]+$/m)
  })
})

describe('causeway run, refusing', () => {
  it('a program that is not there: 127, and one that is none: 126', async () => {
    const missing = await runIn(['--', 'no-such-program'])
    expect(missing).toMatchObject({
      code: 127,
      stderr: 'error: no-such-program is no program: no folder of PATH has it\n',
    })
    writeFileSync(join(workingDir, 'text'), '')
    chmodSync(join(workingDir, 'text'), 0o644)
    expect(await runIn(['--', './text'])).toMatchObject({ code: 126 })
  })

  it('to guess which edge, and whose kubeconfig', async () => {
    await control.stop(AbortSignal.abort())
    control = await tell({ role: 'up', edges: [edge('edge-1'), edge('edge-2')] })
    const several = await runIn(['--', 'true'])
    expect(several.code).toBe(1)
    expect(several.stderr).toContain('choose one with --node: edge-1, edge-2')
    expect((await runIn(['--node', 'edge-2', '--kubeconfig-only', '--', 'true'])).code).toBe(0)
    const elsewhere = await run(['run', '--', 'true'], { workingDir, environment: environment() })
    expect(elsewhere.code).toBe(2)
    expect(elsewhere.stderr).toMatch(/there is no folder .*\.causeway: .*--data-dir/)
    const ofEdge = ['run', '--data-dir', '.', '--', 'true']
    const withoutAdmin = await run(ofEdge, { workingDir, environment: environment() })
    expect(withoutAdmin.code).toBe(2)
    expect(withoutAdmin.stderr).toContain('name a kubeconfig that may ask for tokens with --kubeconfig')
  })

  it('what nobody knows', async () => {
    const account = await runIn(['--service-account', 'default/nobody', '--', 'true'])
    expect(account.code).toBe(1)
    expect(account.stderr).toContain('serviceaccounts "nobody" not found')
    expect(await runIn(['--service-account', 'nobody', '--', 'true'])).toMatchObject({ code: 2 })
    const none = await runIn([])
    expect([none.code, none.stdout]).toEqual([2, ''])
  })

  it('an edge that serves nothing yet, or does not run', async () => {
    await control.stop(AbortSignal.abort())
    const gone = await runIn(['--', 'true'])
    expect(gone.stderr).toContain('no running process uses the data folder')
    control = await tell({ role: 'edge', edge: { node: 'edge-1', hubs: [] } })
    const early = await runIn(['--', 'true'])
    expect(early.stderr).toContain('edge-1 serves no endpoint at the moment')
    expect([gone.code, early.code]).toEqual([1, 1])
  })
})
