/** What edges and hubs do with settings of the tunnel that cannot be: an exit code, a sentence that helps, and nothing begun. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listen } from '../../src/network/listen.ts'
import { lastingPort } from '../lasting-port.ts'
import { endAll, run } from './harness.ts'
import { HubCluster } from './hub-cluster.ts'

let cluster: HubCluster
let hubUrl: string

beforeAll(async () => {
  cluster = await HubCluster.start()
  hubUrl = (await cluster.hub('hub')).url
})
afterAll(async () => {
  await cluster.close()
  await endAll()
})

/** Of a range for examples, which no machine has. */
const foreignAddress = '198.51.100.77'
const some = ['--target', 'kube-apiserver:6443:16443']

describe.concurrent('causeway edge refuses', () => {
  it.each([
    ['a target without an address', some, '--target needs --bind-address: the address to listen on, such as 127.0.0.1'],
    ['an address without a target', ['--bind-address', '127.0.0.1'], '--bind-address needs --target'],
    [
      'half a target',
      ['--target', 'kube-apiserver:6443'],
      'target "kube-apiserver:6443": it has not three parts; write HOST:PORT:LOCAL_PORT',
    ],
    ['a target without a host', ['--target', ':6443:6443'], '"" is neither a name nor an address'],
    ['a port that is none', ['--target', 'a:70000:1'], 'the port "70000" is not a number from 1 to 65535'],
    ['a local port that is none', ['--target', 'a:1:x'], 'the local port "x" is not a number from 1 to 65535'],
    ['a bare IPv6 address', ['--target', 'fd00::7:443:8443'], 'it has not three parts'],
    [
      'one local port twice',
      [...some, '--target', 'b:1:16443', '--bind-address', '127.0.0.1'],
      'targets "kube-apiserver:6443:16443" and "b:1:16443" both want the local port 16443',
    ],
    ['a name to bind', [...some, '--bind-address', 'localhost'], 'bind address "localhost" is no IP address'],
    ['a group of machines to bind', [...some, '--bind-address', '224.0.0.1'], 'one machine cannot have it'],
    ['a destination that is none', ['--allow-destination', 'nothing'], '--allow-destination: '],
    ['a carrier that is none', ['--carrier', 'pigeon'], 'pigeon'],
    ['a CA file that is not there', ['--inner-tls', '--outer-ca', 'none.crt'], '--outer-ca: '],
  ])('%s', async (_what, flags, words) => {
    const { code, stdout, stderr } = await run(['edge', '--data-dir', 'never', ...flags], {
      workingDir: cluster.folder,
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(words)
    expect(stderr).not.toContain('    at ')
    expect(cluster.has('never')).toBe(false)
  })

  it('a proxy address that is none', async () => {
    const environment = { HTTPS_PROXY: 'socks5://127.0.0.1:1080', https_proxy: '' }
    const { code, stderr } = await run(['edge', '--data-dir', 'never'], { workingDir: cluster.folder, environment })
    expect(code).toBe(2)
    expect(stderr).toContain('HTTPS_PROXY: ')
    expect(cluster.has('never')).toBe(false)
  })
})

describe.concurrent('causeway hub refuses', () => {
  it.each([
    ['an API server without a port', ['--apiserver', 'nowhere'], '--apiserver'],
    ['a target without a port', ['--allow-target', 'db.example'], '--allow-target'],
    ['a front that is nowhere', ['--connect-front', 'front'], '--connect-front'],
    ['a front on TCP without a CA', ['--connect-front', '127.0.0.1:0'], '--front-client-ca'],
    ['a strategy that is none', ['--proxy-strategies', 'luck'], 'luck'],
    ['a selector that is none', ['--default-nodes', 'a in ('], '--default-nodes'],
  ])('%s', async (_what, flags, words) => {
    const hub = cluster.launchHub('never-hub', ...flags)
    expect(await hub.exited).toEqual({ code: 2, signal: null })
    expect(hub.stdout).toBe('')
    expect(hub.stderr).toContain(words)
    expect(hub.stderr).not.toContain('    at ')
    expect(cluster.has('never-hub')).toBe(false)
  })
})

describe.concurrent('a hub does not start', () => {
  it('with a front in a folder that is not there', async () => {
    const hub = cluster.launchHub('no-folder', '--connect-front', 'unix:/no/such/folder/front.sock')
    expect(await hub.exited).toEqual({ code: 1, signal: null })
    expect(hub.stdout).toBe('')
    expect(hub.stderr).toContain('there is no folder /no/such/folder; make it first')
  })

  it('with a front where another hub has its own', async () => {
    const front = ['--connect-front', `unix:${cluster.path('front.sock')}`]
    const first = await cluster.hub('first', ...front)
    const second = cluster.launchHub('second', ...front)
    expect(await second.exited).toEqual({ code: 1, signal: null })
    expect(second.stderr).toContain('front.sock: another process already listens there')
    first.process.kill('SIGTERM')
    expect(await first.process.exited).toEqual({ code: 0, signal: null })
    expect(cluster.has('front.sock')).toBe(false)
  })
})

describe.concurrent('an edge that has joined does not start', () => {
  beforeAll(async () => {
    const names = ['taken', 'foreign']
    await Promise.all(
      names.map(async (node) => await cluster.join(node, hubUrl, await cluster.token(`token-${node}`, { node }))),
    )
  })

  it('where another program listens already, and leaves the other ports free', async () => {
    const other = createServer()
    const { port: taken } = await listen(other, { host: '127.0.0.1', port: 0 })
    const free = await lastingPort()
    const targets = ['--target', `kube-apiserver:6443:${free}`, '--target', `b:1:${taken}`]
    const edge = cluster.launchEdge('taken', ...targets, '--bind-address', '127.0.0.1')
    expect(await edge.exited).toEqual({ code: 1, signal: null })
    expect(edge.stdout).toBe('')
    expect(edge.stderr).toContain(`cannot listen on 127.0.0.1:${taken}: another process already listens there`)
    expect(edge.stderr).not.toContain('    at ')
    const again = createServer()
    await listen(again, { host: '127.0.0.1', port: free })
    for (const server of [other, again]) await once(server.close(), 'close')
  })

  it.skipIf(process.platform !== 'linux')('with an address that it would have to add and may not', async () => {
    const own = ['--data-dir', 'foreign', '--health-address', '127.0.0.1:0', '--endpoint-address', 'none']
    const args = ['edge', ...own, ...some]
    const { code, stdout, stderr } = await runWithoutRights([...args, '--bind-address', foreignAddress])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(
      `this machine does not have ${foreignAddress}, and this user may not add an address: ` +
        'run as root or with CAP_NET_ADMIN, or add it yourself (ip link add ',
    )
    expect(stderr).not.toContain('    at ')
  })
})

/** Whoever runs this, even root, may not change the network. */
async function runWithoutRights(args: readonly string[]) {
  const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
  const own = [process.execPath, command, ...args]
  const [program = '', ...rest] = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-net_admin', ...own] : own
  const child = spawn(program, rest, { cwd: cluster.folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { stdout, stderr, code: code as number | null }
}
