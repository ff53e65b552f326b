/** What people do with pods by kubectl, whose API server is the endpoint of an edge: long streams, and switched protocols. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../../src/network/listen.ts'
import { kubectl, peersDirectory } from './control-plane.ts'
import { EndpointWorld, NODE } from './endpoint-transparency-edge.ts'
import { prepareFixtures } from './endpoint-transparency-fixtures.ts'
import { type BuiltKubelet, buildKubelet, PlayedKubelet } from './endpoint-transparency-kubelet.ts'
import { describeReal } from './harness.ts'

const built: BuiltKubelet = buildKubelet()
const logBytes = 100 * 1024 * 1024
const manyBytes = 20_000_000
/** What nobody ends lasts for as long as kubectl does. */
const soon = { timeout: 60_000 }
/** How kubectl is told to use the protocol that it once had. */
const protocols = {
  websocket: {},
  spdy: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' },
} as const

let world: EndpointWorld
let kubelet: PlayedKubelet
let kubeconfigFile: string

/** kubectl as the account, in the namespace of the pods. */
function start(environment: Readonly<Record<string, string>>, ...args: string[]): ChildProcessWithoutNullStreams {
  const own = ['--kubeconfig', kubeconfigFile, `--cache-dir=${world.cluster.path('cache')}`]
  const child = spawn(join(peersDirectory(), 'kubectl'), [...own, ...args], {
    env: { ...process.env, ...environment },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function finish(child: ChildProcessWithoutNullStreams): Promise<{ code: unknown; out: string; errors: string }> {
  const ended = once(child, 'close')
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, out, errors }
}

/** Resolves with what the pattern finds in what is printed from now on. */
async function printed(output: Readable, pattern: RegExp): Promise<RegExpExecArray> {
  let all = ''
  return await new Promise((resolve, reject) => {
    output.on('data', (chunk: Buffer) => {
      all += chunk.toString()
      const found = pattern.exec(all)
      if (found !== null) resolve(found)
    })
    output.once('end', () => reject(new Error(`it ended without ${String(pattern)}: ${all}`)))
  })
}

function sum(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

async function metric(name: string, label: string): Promise<number> {
  const metrics = await (await fetch(`${world.health}/metrics`)).text()
  const pattern = new RegExp(`^causeway_edge_endpoint_${name}{.*${label}.*} (\\d+)$`, 'm')
  return Number(pattern.exec(metrics)?.[1] ?? 0)
}

/** How many connections have switched to that protocol and are over. */
async function upgrades(protocol: string): Promise<number> {
  return await metric('upgrades_total', `protocol="${protocol}"`)
}

/** The same, once none is left whose end would be counted later. */
async function upgradesBefore(protocol: string): Promise<number> {
  await expect.poll(() => metric('requests_in_flight', 'kind="upgrade"'), soon).toBe(0)
  return await upgrades(protocol)
}

describeReal(
  'kubectl at the endpoint',
  () => {
    beforeAll(async () => {
      if ('missing' in built) throw new Error(built.missing)
      const pair = ['--kubelet-client-certificate=admin.crt', '--kubelet-client-key=admin.key']
      world = await EndpointWorld.start({ apiServerFlags: pair })
      const { token } = await prepareFixtures(world.plane)
      kubeconfigFile = world.writeKubeconfig(token)
      kubelet = await PlayedKubelet.start(built.program, world.plane)
      await describeNode(kubelet.port)
    })
    afterAll(async () => {
      await kubelet?.stop()
      await world?.stop()
      if (!('missing' in built)) built.remove()
    })

    it('logs: a hundred megabytes, and all of them', async () => {
      const line = `${'0123456789abcde '.repeat(64).slice(0, 1023)}\n`
      const hash = createHash('sha256')
      for await (const chunk of start({}, 'logs', 'one').stdout) hash.update(chunk as Buffer)
      expect(hash.digest('hex')).toBe(sum(Buffer.alloc(logBytes, line)))
    })

    it('logs -f: as they come, for as long as somebody reads', async () => {
      const follow = start({}, 'logs', '-f', 'one')
      await printed(follow.stdout, /line 1\n[\s\S]*line 5\n/)
      expect(kubelet.said).not.toContain('nobody follows')
      follow.kill('SIGKILL')
      await expect.poll(() => kubelet.said, soon).toContain('nobody follows')
    })

    describe.each(Object.entries(protocols))('by %s', (protocol, environment) => {
      it('exec: input, output, errors and the exit code', async () => {
        const before = await upgradesBefore(protocol)
        const cat = start(environment, 'exec', '-i', 'one', '--', 'cat')
        cat.stdin.end('there and back')
        expect(await finish(cat)).toEqual({ code: 0, out: 'there and back', errors: '' })
        const failing = start(environment, 'exec', 'one', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7')
        const errors = 'err\ncommand terminated with exit code 7\n'
        expect(await finish(failing)).toEqual({ code: 7, out: 'out\n', errors })
        await expect.poll(() => upgrades(protocol), soon).toBe(before + 2)
      })

      it('exec: much, both ways at once', async () => {
        const sent = randomBytes(manyBytes)
        const cat = start(environment, 'exec', '-i', 'one', '--', 'cat')
        cat.stdin.end(sent)
        const received: Buffer[] = []
        for await (const chunk of cat.stdout as AsyncIterable<Buffer>) received.push(chunk)
        expect(sum(Buffer.concat(received))).toBe(sum(sent))
      })

      it('attach', async () => {
        const attached = start(environment, 'attach', '-i', '-q', 'one')
        attached.stdin.end('good day\n')
        expect(await finish(attached)).toMatchObject({ code: 0, out: 'attached\ngood day\n' })
      })

      it('cp: there and back again', async () => {
        const content = randomBytes(manyBytes)
        const [file, back] = ['file', 'back'].map((name) => world.cluster.path(`${protocol}-${name}`)) as [
          string,
          string,
        ]
        writeFileSync(file, content)
        const inside = join(kubelet.folder, `${protocol}-copy`)
        expect(await finish(start(environment, 'cp', file, `one:${inside}`))).toMatchObject({ code: 0 })
        expect(sum(readFileSync(inside))).toBe(sum(content))
        expect(await finish(start(environment, 'cp', `one:${inside}`, back))).toMatchObject({ code: 0 })
        expect(sum(readFileSync(back))).toBe(sum(content))
      })

      it('port-forward: many connections, and much over one of them', async () => {
        const before = await upgradesBefore(protocol)
        const forward = start(environment, 'port-forward', 'pod/one', `:${await startEcho()}`)
        const [, port] = await printed(forward.stdout, /Forwarding from 127\.0\.0\.1:(\d+)/)
        const post = async (body: Buffer): Promise<string> =>
          await (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body })).text()
        const bodies = Array.from({ length: 20 }, (_, index) => randomBytes(1_000 * (index + 1)))
        expect(await Promise.all(bodies.map(post))).toEqual(bodies.map(sum))
        const much = randomBytes(manyBytes)
        expect(await post(much)).toBe(sum(much))
        forward.kill('SIGKILL')
        await expect.poll(() => upgrades(protocol), soon).toBe(before + 1)
      })
    })

    it('what lasts does not keep an edge from stopping', async () => {
      const running = [start({}, 'logs', '-f', 'one'), start({}, 'get', 'pods', '--watch')]
      await Promise.all(running.map(({ stdout }) => once(stdout, 'data')))
      const ended = running.map((child) => once(child, 'close'))
      world.edge.kill('SIGTERM')
      expect(await world.edge.exited).toEqual({ code: 0, signal: null })
      await Promise.all(ended)
      expect(world.edge.log.filter(({ level }) => level === 'error')).toEqual([])
    })
  },
  ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'],
  'missing' in built ? [built.missing] : [],
)

/** Tells where its kubelet is, and that its pod runs. */
async function describeNode(port: number): Promise<void> {
  const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }]
  const node = { status: { addresses, daemonEndpoints: { kubeletEndpoint: { Port: port } } } }
  const patch = async (object: string, status: object, ...args: string[]): Promise<string> =>
    await kubectl(world.plane, ['patch', object, '--subresource=status', `--patch=${JSON.stringify(status)}`, ...args])
  await patch(`node/${NODE}`, node)
  await patch('pod/one', { status: { phase: 'Running' } }, '--namespace=shared')
}

/** Answers with the sum of what it is sent. */
async function startEcho(): Promise<number> {
  const server = createServer((request, response) => {
    const hash = createHash('sha256')
    request.on('data', (chunk: Buffer) => hash.update(chunk))
    request.on('end', () => response.end(hash.digest('hex')))
  })
  await listen(server, { host: '127.0.0.1', port: 0 })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
