/** The interface of an edge on a real kernel, in a network namespace of its own, so that this machine is left as it is. */
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runIp } from '../../src/edge/network/ip-command.ts'
import { INTERFACE_CHECK_MS, OwnInterface, type OwnInterfaceOptions } from '../../src/edge/network/own-interface.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/telemetry/logger.ts'

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may make network namespaces'
  const { status } = spawnSync('unshare', ['--net', 'ip', '-j', 'addr', 'show'])
  return status === 0 ? undefined : 'no unshare and ip that can make network namespaces'
}

const reason = whyNot()
const noTime = AbortSignal.abort()

describe.skipIf(reason !== undefined)(
  `an edge's interface${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    let namespace: string
    let clock: ManualClock

    beforeEach(() => {
      namespace = `causeway-${randomBytes(4).toString('hex')}`
      execFileSync('ip', ['netns', 'add', namespace])
      // A namespace without a single address lets anything be bound.
      execFileSync('ip', ['-n', namespace, 'link', 'set', 'dev', 'lo', 'up'])
      clock = new ManualClock()
    })

    afterEach(() => {
      execFileSync('ip', ['netns', 'del', namespace])
    })

    const ip = async (...args: string[]): Promise<string> => await runIp(['-n', namespace, ...args])

    async function names(): Promise<string[]> {
      return (JSON.parse(await ip('-j', 'link', 'show')) as { ifname: string }[]).map(({ ifname }) => ifname)
    }

    /** Whether a program in the namespace can listen there. */
    function canBind(address: string): boolean {
      const script = `require('net').createServer().listen(0, '${address}', () => process.exit(0)).on('error', () => process.exit(1))`
      return spawnSync('ip', ['netns', 'exec', namespace, process.execPath, '-e', script]).status === 0
    }

    function own(options: Partial<OwnInterfaceOptions> = {}): OwnInterface {
      return new OwnInterface({
        addresses: ['10.9.9.9', 'fd00::9'],
        owner: namespace,
        clock,
        logger: createLogger({ level: 'fatal', format: 'json', destination: { write: () => {} }, clock }),
        registry: new Registry(),
        ip: async (args) => await ip(...args),
        ownAddresses: () => [],
        ...options,
      })
    }

    it('lets both kinds of addresses be bound, and goes with the edge', async () => {
      expect(canBind('10.9.9.9')).toBe(false)
      const running = await own().start()
      expect([canBind('10.9.9.9'), canBind('fd00::9')]).toEqual([true, true])
      await running.stop(noTime)
      expect(await names()).toEqual(['lo'])
    })

    it('is taken over after a crash, put back when somebody removes it, and not taken from another edge', async () => {
      await own().start()
      const part = own()
      const running = await part.start()
      expect(part.status.addresses.map(({ isOurs }) => isOurs)).toEqual([true, true])
      await expect(own({ owner: 'another', addresses: ['10.9.9.10'] }).start()).rejects.toThrow('did not make')
      await ip('link', 'del', 'dev', 'edge-dummy0')
      await clock.advance(INTERFACE_CHECK_MS)
      while (clock.pending < 2) await new Promise(setImmediate)
      expect(canBind('10.9.9.9')).toBe(true)
      await running.stop(noTime)
      expect(await names()).toEqual(['lo'])
    })

    it('is not made where another interface has the address', async () => {
      await ip('addr', 'add', '10.9.9.9/32', 'dev', 'lo')
      const part = own({ addresses: ['10.9.9.9'] })
      const running = await part.start()
      expect(part.status.addresses).toEqual([{ address: '10.9.9.9', interface: 'lo', isOurs: false }])
      await running.stop(noTime)
      expect(await ip('addr', 'show', 'dev', 'lo')).toContain('10.9.9.9')
    })

    it('is an address on lo where the kernel makes no link', async () => {
      const part = own({
        ip: async (args) => {
          const isCreation = args[0] === 'link' && args[1] === 'add'
          return isCreation ? await ip('link', 'add', 'dev', 'x', 'type', 'no-such-kind') : await ip(...args)
        },
      })
      const running = await part.start()
      expect([canBind('10.9.9.9'), canBind('fd00::9')]).toEqual([true, true])
      await running.stop(noTime)
      expect(await ip('addr', 'show')).not.toMatch(/10\.9\.9\.9|fd00::9/)
    })
  },
)
