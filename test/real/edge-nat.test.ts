/** The translation of the service address on a real kernel, in network namespaces of its own, so that this machine is left as it is. */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NAT_CHECK_MS, Nat } from '../../src/edge/network/nat.ts'
import { type NftCommand, nftCommandError } from '../../src/edge/network/nat-command.ts'
import { natTableName } from '../../src/edge/network/nat-plan.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/telemetry/logger.ts'

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may make network namespaces'
  const { status } = spawnSync('unshare', ['--net', 'nft', 'list', 'tables'])
  return status === 0 ? undefined : 'no unshare and nft that can be used in a network namespace'
}

const reason = whyNot()
const noTime = AbortSignal.abort()
const clusterIps = ['10.96.0.1', 'fd00:96::1']
const endpointAddresses = ['127.0.0.1', '169.254.30.10', 'fd00::9']

describe.skipIf(reason !== undefined)(
  `the service led to the endpoint${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    let node: string
    let pod: string
    let clock: ManualClock
    let endpoint: ReturnType<typeof execFile>
    let endpointPort: number

    beforeEach(async () => {
      const id = randomBytes(3).toString('hex')
      node = `cw-node-${id}`
      pod = `cw-pod-${id}`
      clock = new ManualClock()
      for (const each of [node, pod]) {
        execFileSync('ip', ['netns', 'add', each])
        execFileSync('ip', ['-n', each, 'link', 'set', 'dev', 'lo', 'up'])
      }
      ip(node, 'link add cni0 type veth peer name eth0')
      execFileSync('ip', ['-n', node, 'link', 'set', 'eth0', 'netns', pod])
      for (const [where, device, addresses] of [
        [node, 'cni0', ['10.244.0.1/24', 'fd00:244::1/64']],
        [pod, 'eth0', ['10.244.0.2/24', 'fd00:244::2/64']],
      ] as const) {
        for (const address of addresses)
          ip(where, `addr add ${address} dev ${device}${address.includes(':') ? ' nodad' : ''}`)
        ip(where, `link set ${device} up`)
      }
      ip(pod, 'route add default via 10.244.0.1')
      ip(pod, '-6 route add default via fd00:244::1')
      // A node has a way to somewhere; without one nothing it sends passes the hook.
      ip(node, 'route add default dev cni0')
      ip(node, '-6 route add default dev cni0')
      ip(node, 'addr add 169.254.30.10/32 dev lo')
      ip(node, 'addr add fd00::9/128 dev lo nodad')
      const script =
        "require('net').createServer((s) => s.end('endpoint ' + s.localAddress)).listen(0, '::', function () { console.log(this.address().port) })"
      endpoint = execFile('ip', ['netns', 'exec', node, process.execPath, '-e', script])
      const [port] = (await once(endpoint.stdout!, 'data')) as [string]
      endpointPort = Number(port)
    })

    afterEach(async () => {
      const ended = once(endpoint, 'close')
      endpoint.kill('SIGKILL')
      await ended
      for (const each of [node, pod]) execFileSync('ip', ['netns', 'del', each])
    })

    function ip(namespace: string, command: string): void {
      execFileSync('ip', ['-n', namespace, ...command.split(' ')])
    }

    const nft: NftCommand = async (args, input = '') => {
      const { status, stdout, stderr } = spawnSync('ip', ['netns', 'exec', node, 'nft', ...args], { input })
      if (status !== 0) throw nftCommandError(args, new Error(`exit ${status}`), stderr.toString())
      return stdout.toString()
    }

    /** What a client in that namespace hears at the address of the service, if it hears something before it gives up. */
    function asks(namespace: string, address: string, patienceMs: number): string {
      const script = `const s = require('net').connect(443, '${address}').on('error', (e) => console.log(e.code)); s.pipe(process.stdout); s.setTimeout(${patienceMs}, () => s.destroy())`
      return spawnSync('ip', ['netns', 'exec', namespace, process.execPath, '-e', script]).stdout.toString().trim()
    }

    function nat(owner = node, ofPart = clock): Nat {
      return new Nat({
        owner,
        targets: () => ({ clusterIps, endpointAddresses, endpointPort }),
        clock: ofPart,
        logger: createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock }),
        registry: new Registry(),
        nft,
      })
    }

    const everybody = (patienceMs = 30_000) =>
      [node, pod].flatMap((each) => clusterIps.map((address) => asks(each, address, patienceMs)))
    const served = ['endpoint ::ffff:169.254.30.10', 'endpoint fd00::9']

    it('reaches it from pods and from the node, and goes with the edge', async () => {
      expect(everybody(500)).not.toContain(served[0])
      const running = await nat().start()
      expect(everybody()).toEqual([...served, ...served])
      await running.stop(noTime)
      expect(await nft(['list', 'tables'])).toBe('')
    })

    it('is taken over after a crash and put back when somebody takes it away, and leaves the tables of others', async () => {
      const foreign = 'table inet kube-proxy {\n\tchain services {\n\t\taccept\n\t}\n}\n'
      await nft(['-f', '-'], foreign)
      const other = await nat('another edge').start()
      await nat(node, new ManualClock()).start()
      const running = await nat().start()
      for (const damage of [`flush table inet ${natTableName(node)}`, `delete table inet ${natTableName(node)}`]) {
        await nft(['-f', '-'], damage)
        await clock.advance(NAT_CHECK_MS)
        while (clock.pending < 2) await new Promise(setImmediate)
        expect(await nft(['list', 'table', 'inet', natTableName(node)])).toContain('169.254.30.10')
      }
      await running.stop(noTime)
      expect(await nft(['list', 'tables'])).toBe(`table inet kube-proxy\ntable inet ${natTableName('another edge')}\n`)
      await other.stop(noTime)
      expect(await nft(['list', 'table', 'inet', 'kube-proxy'])).toBe(foreign)
    })

    it('does not touch an unchanged table', async () => {
      const running = await nat().start()
      const before = await nft(['-a', 'list', 'table', 'inet', natTableName(node)])
      await clock.advance(NAT_CHECK_MS)
      while (clock.pending < 1) await new Promise(setImmediate)
      expect(await nft(['-a', 'list', 'table', 'inet', natTableName(node)])).toBe(before)
      await running.stop(noTime)
    })
  },
)
