/**
 * The network of a node at the edge: a namespace of its own with one cable, over which it reaches the port of a hub and
 * nothing else. What tries to leave for anywhere else is counted and refused.
 */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const POD_ADDRESSES = '10.244.1.0/24'

/** What this machine lacks to have such networks. */
export function missingForNetwork(): string[] {
  const works = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0
  const needed: [string, boolean][] = [
    ['right to make network namespaces', works('unshare', '--net', 'true')],
    ['nft', works('unshare', '--net', 'nft', 'list', 'tables')],
    ['iptables', works('unshare', '--net', 'iptables', '--table', 'nat', '--list')],
    ['network plugins', works('test', '-x', '/usr/lib/cni/bridge')],
  ]
  return needed.filter(([, isThere]) => !isThere).map(([what]) => what)
}

export class NodeNetwork {
  readonly namespace = `causeway-${randomBytes(3).toString('hex')}`
  /** The near end is on this machine, where somebody else may run the same. */
  readonly #site = `10.98.${randomInt(100, 255)}`
  readonly hubAddress = `${this.#site}.1`
  readonly nodeAddress = `${this.#site}.2`
  readonly #near = `cw${this.namespace.slice(-6)}a`
  readonly #far = `cw${this.namespace.slice(-6)}b`

  layCable(): void {
    ip('netns', 'add', this.namespace)
    ip('link', 'add', this.#near, 'type', 'veth', 'peer', 'name', this.#far, 'netns', this.namespace)
    ip('address', 'add', `${this.hubAddress}/30`, 'dev', this.#near)
    ip('link', 'set', this.#near, 'up')
    ip('-n', this.namespace, 'link', 'set', 'lo', 'up')
    ip('-n', this.namespace, 'address', 'add', `${this.nodeAddress}/30`, 'dev', this.#far)
    ip('-n', this.namespace, 'link', 'set', this.#far, 'up')
    // Programs need a route to wherever they send, even if a translation of addresses will keep it here.
    ip('-n', this.namespace, 'route', 'add', 'default', 'via', this.hubAddress)
  }

  /** From now on only this port of the hub can be reached. */
  fence(hubPort: number): void {
    const rules = [
      `oifname != "${this.#far}" accept`,
      // The device is that of the route before a translation of addresses.
      'fib daddr type local accept',
      `ip daddr ${this.hubAddress} tcp dport ${hubPort} accept`,
      'meta l4proto tcp counter name strangers reject with tcp reset',
      'drop',
    ].join('\n')
    const chain = (hook: string): string => `chain ${hook} { type filter hook ${hook} priority 100\n${rules}\n}`
    const table = `table inet fence {\ncounter strangers { }\n${chain('output')}\n${chain('forward')}\n}\n`
    execFileSync('nsenter', this.inside('nft', '-f', '-'), { input: table })
  }

  /** From now on packets vanish on the cable, both ways, without a word. */
  async cut(): Promise<void> {
    const chain = (hook: string, rule: string): string =>
      `chain ${hook} { type filter hook ${hook} priority -300\n${rule} "${this.#far}" drop\n}`
    await this.run('nft', `table inet cut {\n${chain('input', 'iifname')}\n${chain('output', 'oifname')}\n}`)
  }

  async mend(): Promise<void> {
    await this.run('nft', 'delete', 'table', 'inet', 'cut')
  }

  /** What the kernel forgets with the power: rules and devices that programs of the node have made. */
  async forget(...devices: string[]): Promise<void> {
    for (const line of (await this.run('nft', 'list', 'tables')).stdout.trim().split('\n')) {
      const [, family = '', name = ''] = line.split(' ')
      if (name !== 'cut' && name !== 'fence') await this.run('nft', 'delete', 'table', family, name)
    }
    for (const device of devices) await this.run('ip', 'link', 'delete', device).catch(() => {})
  }

  /** Packets of TCP that the node tried to send to anybody but the hub. */
  async strangers(): Promise<number> {
    const { stdout } = await this.run('nft', 'list', 'counter', 'inet', 'fence', 'strangers')
    return Number(/packets (\d+)/.exec(stdout)?.[1])
  }

  /** Arguments for `nsenter`. */
  inside(program: string, ...args: string[]): string[] {
    return [`--net=/run/netns/${this.namespace}`, program, ...args]
  }

  /** Runs a program of the node to its end. */
  async run(program: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
    return await run('nsenter', this.inside(program, ...args))
  }

  /** The near end of the cable goes with the far one. */
  remove(): void {
    spawnSync('ip', ['netns', 'del', this.namespace])
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args)
}
