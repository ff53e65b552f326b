/** What people do with pods, through a real kube-apiserver that reaches a real kubelet by a hub and an edge alone. */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { certificatePem } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import { issueCertificate, validityFromNow } from '../../src/identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../src/identity/keys.ts'
import { listen } from '../../src/network/listen.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { makeCa } from '../worlds/fake-cluster.ts'
import { freePorts, peersDirectory } from './control-plane.ts'
import { describeReal } from './harness.ts'
import { missingForNode } from './node.ts'
import { KUBELET_PORT, NODE_NAME, TunnelCluster } from './tunnel-cluster.ts'
import { type BuiltImage, buildToolboxImage, TOOLBOX_IMAGE } from './tunnel-image.ts'

const patience = { timeout: 120_000, interval: 200 }
const bigBytes = 100 * 1024 * 1024
const hourMs = 3_600_000

const lacking = missingForNode()
const image: BuiltImage = lacking.length > 0 ? { missing: 'nothing to run it with' } : buildToolboxImage()
const missing = [...lacking, ...('missing' in image ? [`image (${image.missing})`] : [])]

let world: TunnelCluster
let podPort: number
let webhookPort: number
let bigFile: string
let bigSum: string

/** kubectl as a process, for what does not end by itself. */
function kubectl(...args: string[]) {
  const own = [join(peersDirectory(), 'kubectl'), '--kubeconfig', world.plane.kubeconfigFile]
  return start([...own, ...args])
}

function start([program = '', ...args]: readonly string[]) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Resolves with what the pattern finds in what is printed from now on; more can be waited for afterwards. */
async function printed(output: Readable, pattern: RegExp): Promise<RegExpExecArray> {
  let all = ''
  return await new Promise((resolve, reject) => {
    const onText = (chunk: Buffer): void => {
      all += chunk.toString()
      const found = pattern.exec(all)
      if (found === null) return
      output.off('data', onText)
      resolve(found)
    }
    output.on('data', onText)
    output.once('end', () => reject(new Error(`it ended without ${String(pattern)}: ${all}`)))
  })
}

function sumOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

function pod(): object {
  const main = { image: TOOLBOX_IMAGE, imagePullPolicy: 'Never', command: ['/bin/main', String(podPort)], stdin: true }
  const spec = { nodeName: NODE_NAME, hostNetwork: true, containers: [{ name: 'main', ...main }] }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { ...spec, enableServiceLinks: false } }
}

/** Refuses every object, from an address of the node that only the edge lets the control plane reach. */
async function startWebhook(address: string): Promise<string> {
  const ca = await makeCa(systemClock)
  const { privateKey, publicKey } = await generateKeys()
  const names = { dnsNames: ['hook.default.svc'], ipAddresses: [] }
  const template = { ...validityFromNow(systemClock, hourMs), subject: userName('hook'), names }
  const certificate = await issueCertificate(ca, { ...template, extendedKeyUsages: ['serverAuth'] }, publicKey)
  const identity = { cert: certificatePem(certificate), key: privateKeyPem(privateKey) }
  const server = createServer(identity, (request, response) => void refuse(request, response))
  await listen(server, { host: address, port: webhookPort })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return Buffer.from(certificatePem(ca.certificate)).toString('base64')
}

async function refuse(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const review = JSON.parse(await text(request)) as { request: { uid: string } }
  const status = { message: 'the webhook on the edge says no' }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ ...review, response: { uid: review.request.uid, allowed: false, status } }))
}

async function describeWebhook(address: string, caBundle: string): Promise<void> {
  const port = { name: 'https', port: webhookPort, protocol: 'TCP' }
  await world.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'hook' },
    spec: { ports: [{ ...port, port: 443, targetPort: webhookPort }] },
  })
  await world.apply({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'hook', labels: { 'kubernetes.io/service-name': 'hook' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [port],
  })
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }]
  const fixed = { sideEffects: 'None', admissionReviewVersions: ['v1'], failurePolicy: 'Fail', timeoutSeconds: 10 }
  const clientConfig = { service: { name: 'hook', namespace: 'default', port: 443 }, caBundle }
  await world.apply({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'hook' },
    webhooks: [{ name: 'hook.example.com', ...fixed, clientConfig, rules }],
  })
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no failure',
    (error: Error) => error.message,
  )
}

/** The same for both protocols of the way in. */
function podsCanBeUsed(): void {
  it('logs, and logs -f for as long as somebody reads', async () => {
    await printed(kubectl('logs', '-f', 'web').stdout, /^tick 1\ntick 2\n/)
    expect(await world.kubectl('logs', 'web')).toMatch(/^tick 1\ntick 2\n/)
    const follow = kubectl('logs', '-f', '--tail=1', 'web')
    const [, now = ''] = await printed(follow.stdout, /^tick (\d+)\n/)
    await printed(follow.stdout, new RegExp(`^tick ${Number(now) + 10}\n`, 'm'))
  })

  it('exec: input, output, and the exit code', async () => {
    const cat = kubectl('exec', '-i', 'web', '--', 'cat')
    cat.stdin.end('there and back')
    expect(await text(cat.stdout)).toBe('there and back')
    const failing = kubectl('exec', 'web', '--', 'fail')
    expect(await once(failing, 'exit')).toEqual([7, null])
  })

  it('exec -it: on a terminal', async () => {
    const own = `${join(peersDirectory(), 'kubectl')} --kubeconfig ${world.plane.kubeconfigFile}`
    const terminal = start(['script', '--quiet', '--command', `${own} exec -it web -- tty`, '/dev/null'])
    await printed(terminal.stdout, /a terminal of \d+ lines/)
    terminal.stdin.write('good day\n')
    await printed(terminal.stdout, /heard good day/)
  })

  it('attach: to what the container prints and reads', async () => {
    const attached = kubectl('attach', '-i', '-q', 'web')
    const word = randomBytes(4).toString('hex')
    attached.stdin.write(`${word}\n`)
    await printed(attached.stdout, new RegExp(`^heard ${word}$`, 'm'))
  })

  it('port-forward: many connections, and much over one of them', async () => {
    const forward = kubectl('port-forward', 'pod/web', `:${podPort}`)
    const [, port] = await printed(forward.stdout, /Forwarding from 127\.0\.0\.1:(\d+)/)
    const url = `http://127.0.0.1:${port}/`
    const post = async (body: Buffer): Promise<string> => await (await fetch(url, { method: 'POST', body })).text()
    const bodies = Array.from({ length: 20 }, (_, index) => randomBytes(1_000 * (index + 1)))
    const expected = (body: Buffer): string => `${body.length} bytes ${createHash('sha256').update(body).digest('hex')}`
    expect(await Promise.all(bodies.map(post))).toEqual(bodies.map(expected))
    const much = randomBytes(20_000_000)
    expect(await post(much)).toBe(expected(much))
  })

  it('cp: 100 MB there and back again', async () => {
    await world.kubectl('cp', bigFile, 'web:/tmp/big')
    expect((await world.kubectl('exec', 'web', '--', 'sum', '/tmp/big')).trim()).toBe(bigSum)
    const back = join(world.folder, 'back')
    await world.kubectl('cp', '--retries=0', 'web:/tmp/big', back)
    expect(sumOf(back)).toBe(bigSum)
  })

  it('metrics of the node, from which "top" is made', async () => {
    const proxy = `/api/v1/nodes/${NODE_NAME}/proxy`
    const told = (path: string): Promise<string> => world.kubectl('get', '--raw', `${proxy}/metrics/${path}`)
    await vi.waitFor(async () => expect(await told('resource')).toContain('node_cpu_usage_seconds_total'), patience)
    await vi.waitFor(async () => expect(await told('cadvisor')).toContain('machine_cpu_cores'), patience)
  })

  it('admission webhooks that run on the edge', async () => {
    const address = await world.nodeAddress()
    await describeWebhook(address, await startWebhook(address))
    const make = async (): Promise<string> =>
      await failureOf(world.kubectl('create', 'configmap', 'refused', '--dry-run=server'))
    await vi.waitFor(async () => expect(await make()).toContain('the webhook on the edge says no'), patience)
    await world.kubectl('delete', 'validatingwebhookconfiguration', 'hook')
  })
}

describeReal(
  'kube-apiserver and kubelet with a hub and an edge between them',
  () => {
    beforeAll(async () => {
      if ('missing' in image) throw new Error(image.missing)
      world = new TunnelCluster()
      ;[podPort = 0, webhookPort = 0] = await freePorts(2)
      bigFile = join(world.folder, 'big')
      writeFileSync(bigFile, randomBytes(bigBytes))
      bigSum = sumOf(bigFile)
      await world.start({ imageArchive: image.archive, webhookPort })
      await world.apply(pod())
      await world.kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=120s')
    }, 300_000)
    afterAll(async () => {
      await world?.stop()
      if (!('missing' in image)) image.remove()
    })

    it('the kubelet has registered through the edge, with a certificate of its own', async () => {
      expect(
        await world.kubectl('get', 'node', NODE_NAME, '-o', 'jsonpath={.status.daemonEndpoints.kubeletEndpoint.Port}'),
      ).toBe(String(KUBELET_PORT))
      const requests = await world.kubectl('get', 'csr', '-o', 'jsonpath={.items[*].spec.username}')
      expect(requests.split(' ')).toContain(`system:node:${NODE_NAME}`)
    })

    describe('by HTTP CONNECT', podsCanBeUsed)

    describe('by the gRPC of konnectivity', () => {
      beforeAll(async () => await world.useEgress('GRPC'))
      podsCanBeUsed()
    })

    it('nothing of that works without the edge, and the reason reaches the person', async () => {
      world.edge.kill('SIGTERM')
      expect(await world.edge.exited).toEqual({ code: 0, signal: null })
      await vi.waitFor(
        async () =>
          expect(await failureOf(world.kubectl('logs', 'web'))).toContain(
            `node ${NODE_NAME} is not connected to this hub`,
          ),
        patience,
      )
    })
  },
  ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl', 'kubelet'],
  missing,
)
