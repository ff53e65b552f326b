import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it } from 'vitest'
import { settled } from '../../../test/worlds/yamux-drivers.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { NAT_CHECK_MS, Nat } from './nat.ts'
import { NftCommandError, type NftFailure, nftCommandError } from './nat-command.ts'
import { type NatTargets, natTableName } from './nat-plan.ts'

const owner = '/var/lib/causeway'
const table = natTableName(owner)
const noTime = AbortSignal.abort()

/** A kernel as far as nft shows it: the text of each table. */
class FakeNft {
  readonly tables = new Map<string, string>([['kube-proxy', 'theirs']])
  failure: NftFailure | undefined
  changes = 0

  readonly run = async (args: readonly string[], input = ''): Promise<string> => {
    if (this.failure !== undefined) throw new NftCommandError(this.failure, 'nft: no')
    if (args[0] === 'list') {
      const text = this.tables.get(args[3] ?? '')
      if (text === undefined) throw new NftCommandError('not-there', 'nft: No such file or directory')
      return text
    }
    this.changes++
    const [, name = '', rest = ''] = /^table inet (\S+)\ndelete table inet \1\n([\s\S]*)$/.exec(input) ?? []
    expect(name).not.toBe('')
    if (rest === '') this.tables.delete(name)
    else this.tables.set(name, rest)
    return ''
  }
}

let nft: FakeNft
let clock: ManualClock
let targets: NatTargets
let messages: string[]

beforeEach(() => {
  nft = new FakeNft()
  clock = new ManualClock()
  messages = []
  targets = { clusterIps: ['10.96.0.1'], endpointAddresses: ['127.0.0.1', '169.254.30.10'], endpointPort: 10_550 }
})

function nat(): Nat {
  const destination = { write: (line: string) => messages.push((JSON.parse(line) as { msg: string }).msg) }
  return new Nat({
    owner,
    targets: () => targets,
    clock,
    logger: createLogger({ level: 'warn', format: 'json', destination, clock }),
    registry: new Registry(),
    nft: nft.run,
  })
}

async function nextCheck(): Promise<void> {
  await clock.advance(NAT_CHECK_MS)
  await settled()
}

describe('the translation of the service address', () => {
  it('is there while the edge runs, and nothing else is touched', async () => {
    const part = nat()
    const running = await part.start()
    expect(nft.tables.get(table)).toContain('dnat ip to 169.254.30.10:10550')
    expect(part.status).toEqual({
      table,
      rules: ['ip daddr 10.96.0.1 tcp dport 443 dnat ip to 169.254.30.10:10550'],
      problem: undefined,
    })
    await running.stop(noTime)
    expect([...nft.tables]).toEqual([['kube-proxy', 'theirs']])
    expect(clock.pending).toBe(0)
  })

  it('changes nothing while all is well, and is put back when somebody removes it', async () => {
    await nat().start()
    const before = nft.changes
    await nextCheck()
    expect(nft.changes).toBe(before)
    nft.tables.delete(table)
    await nextCheck()
    expect(nft.tables.has(table)).toBe(true)
    nft.tables.set(table, `table inet ${table} {\n}\n`)
    await nextCheck()
    expect(nft.tables.get(table)).toContain('dnat')
    expect(messages).toEqual(Array(2).fill('the rules for the service had vanished and were put back'))
  })

  it('waits until the address is known, follows it, and goes when it is not known any more', async () => {
    nft.tables.set(table, 'left by a crash')
    targets = { ...targets, clusterIps: [] }
    await nat().start()
    expect(nft.tables.has(table)).toBe(false)
    targets = { ...targets, clusterIps: ['10.0.0.1'] }
    await nextCheck()
    expect(nft.tables.get(table)).toContain('ip daddr 10.0.0.1 ')
    targets = { ...targets, endpointPort: 7 }
    await nextCheck()
    expect(nft.tables.get(table)).toContain('169.254.30.10:7 ')
    targets = { ...targets, clusterIps: [] }
    await nextCheck()
    expect(nft.tables.has(table)).toBe(false)
    expect(messages).toEqual([])
  })

  it('tells which address has no endpoint, once', async () => {
    targets = { ...targets, clusterIps: ['10.96.0.1', 'fd00::1'] }
    const part = nat()
    await part.start()
    await nextCheck()
    expect(part.health()).toMatchObject({ ok: false, reason: expect.stringContaining('connections to fd00::1 cannot') })
    expect(messages).toHaveLength(1)
    targets = { ...targets, endpointAddresses: ['169.254.30.10', 'fd00::9'] }
    await nextCheck()
    expect(part.health().ok).toBe(true)
  })

  it('stays as it is, and says so, while nft fails', async () => {
    const part = nat()
    const running = await part.start()
    nft.failure = 'failed'
    await nextCheck()
    await nextCheck()
    expect(part.health().ok).toBe(false)
    expect(messages).toEqual(['the rules for the service are not in place'])
    nft.failure = undefined
    await nextCheck()
    expect(part.health().ok).toBe(true)
    await running.stop(noTime)
  })

  it.each([
    ['not-installed', 'there is no nft command; install nftables'],
    ['not-permitted', 'run as root or with CAP_NET_ADMIN'],
    ['not-supported', 'Linux 5.2'],
    ['failed', 'nft: no'],
  ] as const)('does not start where nft is %s, even before there is a rule', async (failure, text) => {
    nft.failure = failure
    targets = { ...targets, clusterIps: [] }
    await expect(nat().start()).rejects.toThrow(text)
    expect(clock.pending).toBe(0)
  })
})

describe('what nft says', () => {
  it.each([
    ['Operation not permitted (you must be root)\n', 'not-permitted'],
    ['Error: Could not process rule: Operation not supported\n', 'not-supported'],
    ['Error: No such file or directory\nlist table inet x\n', 'not-there'],
    ['Error: syntax error\n', 'failed'],
  ])('%j', (stderr, failure) => {
    expect(nftCommandError(['list'], new Error('exit 1'), stderr)).toMatchObject({ failure })
  })

  it('nothing, because it is not there', () => {
    const cause = Object.assign(new Error('spawn nft ENOENT'), { code: 'ENOENT' })
    expect(nftCommandError(['x'], cause, '')).toMatchObject({
      failure: 'not-installed',
      message: 'nft x: spawn nft ENOENT',
    })
  })
})
