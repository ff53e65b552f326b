import { constants } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { DAY_MS, makeCa } from '../../../test/worlds/edge-hub.ts'
import { writeEdgeRecord } from '../../edge/identity/edge-record.ts'
import { natTableName } from '../../edge/network/nat-plan.ts'
import { type Certificate, certificatePem } from '../../identity/certificate.ts'
import { type CertificateAuthority, issueCertificate, validityFromNow } from '../../identity/issue.ts'
import { caBundleSha256 } from '../../identity/join-token.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import { nodeSubject } from '../../identity/node-name.ts'
import { ManualClock } from '../../runtime/clock.ts'
import { renderFindings, runChecks } from './checks.ts'
import { type DoctorReaders, ToolError, type VersionAnswer } from './finding.ts'

const clock = new ManualClock()
const dataDir = '/var/lib/causeway'
const file = constants.S_IFREG
const hubCa = await makeCa(clock)
const clusterCa = await makeCa(clock, 'kubernetes')
const keys = await generateKeys()

async function issued(
  ca: CertificateAuthority,
  usage: 'clientAuth' | 'serverAuth',
  { lifeMs = 365 * DAY_MS, ipAddresses = ['169.254.30.10', '127.0.0.1'], node = 'edge-1' } = {},
): Promise<Certificate> {
  const template = {
    subject: nodeSubject(node),
    ...validityFromNow(clock, lifeMs),
    extendedKeyUsages: [usage] as const,
    ...(usage === 'serverAuth' ? { names: { dnsNames: [], ipAddresses } } : {}),
  }
  return await issueCertificate(ca, template, keys.publicKey)
}

const edgeCertificate = await issued(hubCa, 'clientAuth')
const servingCertificate = await issued(clusterCa, 'serverAuth')

/** A node on which all is well, until a test breaks something. */
interface World {
  readonly files: Map<string, { content: string; mode: number }>
  edge: Record<string, unknown> | undefined
  nowMs: number
  hubAheadMs: number | Error
  addresses: string[]
  presented: Certificate | Error
  version: VersionAnswer | Error
  /** What the edge has noticed of it by then. */
  upstreamErrors: readonly string[]
  readonly tools: Map<string, string | ToolError>
}

let world: World

beforeEach(() => {
  const record = {
    node: 'edge-1',
    hubs: ['https://hub.example.com:10000'],
    apiServerName: 'kubernetes.default.svc',
    kubernetesCaSha256: caBundleSha256([clusterCa.certificate]),
  }
  const secret = file | 0o600
  const open = file | 0o644
  const key = { content: privateKeyPem(keys.privateKey), mode: secret }
  world = {
    files: new Map([
      ['.', { content: '', mode: constants.S_IFDIR | 0o700 }],
      ['edge.json', { content: writeEdgeRecord(record), mode: secret }],
      ['edge.crt', { content: certificatePem(edgeCertificate), mode: open }],
      ['edge.key', key],
      ['ca.crt', { content: certificatePem(hubCa.certificate), mode: open }],
      ['kubernetes-ca.crt', { content: certificatePem(clusterCa.certificate), mode: open }],
      ['serving.crt', { content: certificatePem(servingCertificate), mode: open }],
      ['serving.key', key],
    ]),
    edge: {
      node: 'edge-1',
      identity: { ok: true },
      endpoint: { addresses: ['127.0.0.1', '169.254.30.10'], port: 10_550 },
      network: { links: [{ hub: 'https://hub.example.com:10000', state: 'up' }] },
    },
    nowMs: clock.nowMs(),
    hubAheadMs: 400,
    addresses: ['127.0.0.1', '169.254.30.10'],
    presented: servingCertificate,
    version: { code: 200 },
    upstreamErrors: [],
    tools: new Map([
      ['ip -V', 'ip utility'],
      ['nft --version', 'nftables v1'],
      ['nft list tables', 'table ip kube-proxy\n'],
    ]),
  }
})

function readers(): DoctorReaders {
  const { files, tools } = world
  return {
    dataDir,
    nowMs: () => world.nowMs,
    modeOf: async (name) => files.get(name)?.mode,
    read: async (name) => {
      const found = files.get(name)
      return found === undefined ? undefined : Buffer.from(found.content)
    },
    status: async () => {
      if (world.edge === undefined) throw new Error(`no running process uses the data folder ${dataDir}`)
      return { role: 'edge', edge: world.edge }
    },
    statusNow: async () => {
      const pools = ['node', 'token', 'open'].map((pool, index) => ({ pool, lastError: world.upstreamErrors[index] }))
      return { role: 'edge', edge: { ...world.edge, endpoint: { addresses: [], port: 1, upstream: { pools } } } }
    },
    hubTimeMs: async () => {
      if (world.hubAheadMs instanceof Error) throw world.hubAheadMs
      return world.nowMs + world.hubAheadMs
    },
    ownAddresses: () => world.addresses,
    hasInterface: () => false,
    presentedCertificate: async () => {
      if (world.presented instanceof Error) throw world.presented
      return world.presented
    },
    versionAnswer: async () => {
      if (world.version instanceof Error) throw world.version
      return world.version
    },
    runTool: async (program, args) => {
      const said = tools.get([program, ...args].join(' ')) ?? new ToolError('missing', 'ENOENT')
      if (said instanceof ToolError) throw said
      return said
    },
  }
}

/** All that is not well, as `check: state, message -> advice`. */
async function complaints(): Promise<string[]> {
  const findings = await runChecks(readers())
  return findings
    .filter(({ state }) => state !== 'ok')
    .map(({ check, state, message, advice }) => `${check}: ${state}, ${message} -> ${advice}`)
}

function replace(name: string, change: { content?: string; mode?: number }): void {
  const before = world.files.get(name) ?? { content: '', mode: file | 0o600 }
  world.files.set(name, { ...before, ...change })
}

describe('a node on which all is well', () => {
  it('has nothing but ok', async () => {
    expect(await complaints()).toEqual([])
  })

  it('is printed one line for each check, with the advice below', async () => {
    world.hubAheadMs = new Error('nobody there')
    const text = renderFindings(await runChecks(readers()))
    expect(text).toContain('ok    data folder                    /var/lib/causeway, mode 0700\n')
    expect(text).toMatch(/^warn {2}clock .*nobody there\n {37}-> check the network towards the hub$/m)
    expect(text).toMatch(/\n\n12 ok, 1 to look at, 0 failed\n$/)
  })
})

describe('the data folder', () => {
  it('is missing, no folder, or open to others', async () => {
    replace('.', { mode: constants.S_IFDIR | 0o777 })
    expect(await complaints()).toEqual([
      'data folder: fail, others may write into /var/lib/causeway (mode 0777) -> chmod 0700 /var/lib/causeway',
    ])
    replace('.', { mode: file | 0o600 })
    expect(await complaints()).toEqual([expect.stringContaining('is no folder')])
    world.files.delete('.')
    const findings = await runChecks(readers())
    expect(findings).toEqual([
      {
        check: 'data folder',
        state: 'fail',
        message: 'there is no folder /var/lib/causeway',
        advice: expect.stringContaining('--data-dir'),
      },
    ])
  })

  it('holds no identity, or that of another place', async () => {
    for (const name of ['edge.json', 'edge.crt', 'edge.key']) world.files.delete(name)
    expect(await complaints()).toEqual([expect.stringContaining('clock: warn, no hub is known')])
    world.edge = undefined
    expect((await complaints())[0]).toContain('identity: fail, /var/lib/causeway holds no identity')
    replace('edges', { mode: constants.S_IFDIR | 0o700 })
    expect(await complaints()).toEqual([
      'identity: fail, /var/lib/causeway is the folder of "causeway up", not of an edge -> ' +
        'name that of one of its edges: --data-dir /var/lib/causeway/edges/edge-1',
    ])
  })

  it.each([
    ['a missing key', () => world.files.delete('edge.key'), 'edge.key is missing'],
    ['a damaged record', () => replace('edge.json', { content: '{' }), 'is damaged'],
    [
      'another CA',
      () => replace('kubernetes-ca.crt', { content: certificatePem(hubCa.certificate) }),
      'that the join token named',
    ],
    ['a foreign hub', () => replace('ca.crt', { content: certificatePem(clusterCa.certificate) }), 'edge.crt'],
  ])('holds %s', async (_, damage, message) => {
    damage()
    expect((await complaints())[0]).toMatch(/^identity: fail, /)
    expect((await complaints())[0]).toContain(message)
  })

  it('shows its keys to others', async () => {
    replace('serving.key', { mode: file | 0o640 })
    replace('kube-proxy.token', { mode: file | 0o644 })
    expect(await complaints()).toEqual([
      'key modes: fail, others may use serving.key (mode 0640), kube-proxy.token (mode 0644) -> ' +
        'chmod 0600 serving.key kube-proxy.token',
    ])
  })
})

describe('certificates', () => {
  it('are overdue, expired, or not valid yet', async () => {
    world.nowMs = edgeCertificate.notAfterMs - 10 * DAY_MS
    expect((await complaints()).join()).toMatch(/certificates: warn, edge\.crt ends at .* and has not been renewed/)
    world.nowMs = edgeCertificate.notAfterMs + DAY_MS
    expect((await complaints())[0]).toMatch(/^certificates: fail, edge\.crt has expired at /)
    world.nowMs = edgeCertificate.notBeforeMs - DAY_MS
    expect((await complaints())[0]).toMatch(/^certificates: fail, edge\.crt is valid only from .* -> set the clock/)
  })
})

describe('the way to the hub', () => {
  it('shows another time there', async () => {
    world.hubAheadMs = -3_600_000
    expect(await complaints()).toEqual([expect.stringMatching(/^clock: fail, the clock here says .* that of the hub /)])
  })

  it('is down, with the reason', async () => {
    world.edge = { ...world.edge, network: { links: [{ hub: 'h', state: 'down', lastError: 'refused' }] } }
    expect(await complaints()).toEqual([
      'link: fail, there is no link (h down: refused) -> check the network towards the hub',
      expect.stringContaining('not asked: there is no link'),
    ])
    world.edge = { ...world.edge, identity: { ok: false, reason: 'forgotten' } }
    expect((await complaints())[0]).toContain('the identity of edge-1 does not count: forgotten')
  })

  it('cannot be told by an edge that does not run', async () => {
    world.edge = undefined
    expect(await complaints()).toEqual([
      expect.stringContaining('link: fail, no running process uses the data folder'),
      expect.stringContaining('endpoint address: warn'),
      expect.stringContaining('endpoint port: warn'),
      expect.stringContaining('API server through the tunnel: warn, not asked: there is no endpoint'),
    ])
  })
})

describe('the API server', () => {
  it.each([200, 401, 403, 500])('is there if it answers %i', async (code) => {
    world.version = { code, message: 'whatever it says' }
    expect(await complaints()).toEqual([])
  })

  it.each([502, 503, 504])('is away if the endpoint says %i, with what the edge knows of it', async (code) => {
    world.version = { code, message: 'cannot be reached: the log of the edge on this node says why' }
    world.upstreamErrors = ['refused', 'refused']
    expect(await complaints()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^API server through the tunnel: fail, requests get HTTP ${code}: refused -> .*--apiserver of the hub`,
        ),
      ),
    ])
    world.upstreamErrors = []
    expect((await complaints())[0]).toContain(`HTTP ${code}: cannot be reached: the log of the edge`)
  })

  it('is not known of where nobody answers, too many ask, or there is no link', async () => {
    world.version = new Error('none within 25 s')
    expect(await complaints()).toEqual([expect.stringContaining('fail, requests get no answer: none within 25 s')])
    world.version = { code: 429, message: 'slow down' }
    expect(await complaints()).toEqual([expect.stringContaining('tunnel: warn, not known: slow down')])
    world.version = { code: 503 }
    world.edge = { ...world.edge, network: { links: [{ hub: 'h', state: 'down' }] } }
    expect((await complaints()).join()).toContain('API server through the tunnel: warn, not asked: there is no link')
  })
})

describe('the endpoint', () => {
  it('has no certificate yet', async () => {
    world.files.delete('serving.crt')
    world.edge = { ...world.edge, endpoint: undefined }
    expect((await complaints())[0]).toMatch(/^serving certificate: fail, there is no serving\.crt.*kubectl get csr/)
  })

  it('tells itself why it is not open, or not everywhere', async () => {
    const endpoint = {
      addresses: [],
      port: 1,
      health: { ok: false, reason: 'no certificate' },
      problems: ['port taken'],
    }
    world.edge = { ...world.edge, endpoint }
    expect((await complaints())[0]).toMatch(/^endpoint address: warn, .* at the moment: no certificate; port taken -> /)
    world.edge = { ...world.edge, endpoint: { ...endpoint, addresses: ['127.0.0.1'] } }
    expect(await complaints()).toEqual(['endpoint address: warn, port taken -> see the log of the edge'])
  })

  it('has one of a signer that pods do not trust', async () => {
    const foreign = await issued(await makeCa(clock, 'signer'), 'serverAuth')
    replace('serving.crt', { content: certificatePem(foreign) })
    world.presented = foreign
    expect(await complaints()).toEqual([
      expect.stringMatching(/^serving certificate: fail, .*another CA than kube-root-ca\.crt.*unknown authority$/),
    ])
  })

  it('has no interface, or loopback only', async () => {
    world.addresses = ['127.0.0.1']
    expect(await complaints()).toEqual([
      expect.stringContaining('endpoint address: fail, no interface of this machine has 169.254.30.10'),
    ])
    world.edge = { ...world.edge, endpoint: { addresses: ['127.0.0.1'], port: 1 } }
    expect(await complaints()).toEqual([expect.stringContaining('endpoint address: warn, only 127.0.0.1')])
  })

  it('does not answer, or somebody else does, or under another name', async () => {
    world.presented = new Error('connect ECONNREFUSED')
    expect(await complaints()).toEqual([
      expect.stringContaining('endpoint port: fail, 127.0.0.1 port 10550 does not answer: connect ECONNREFUSED'),
    ])
    world.presented = edgeCertificate
    expect((await complaints())[0]).toContain('answers with another certificate than serving.crt')
    const narrow = await issued(clusterCa, 'serverAuth', { ipAddresses: ['127.0.0.1'] })
    replace('serving.crt', { content: certificatePem(narrow) })
    world.presented = narrow
    expect(await complaints()).toEqual([expect.stringContaining('the certificate does not name 169.254.30.10')])
  })
})

describe('the machine', () => {
  it.each([
    ['our own table', 'nft list tables', `table inet ${natTableName(dataDir)}\n`],
    ['kube-proxy by iptables', 'iptables -w -t nat -S KUBE-SERVICES', '-N KUBE-SERVICES\n'],
  ])('leads the service on by %s', async (_, tool, said) => {
    world.tools.set('nft list tables', '')
    world.tools.set(tool, said)
    expect(await complaints()).toEqual([])
  })

  it('leads the service nowhere, or does not let us look', async () => {
    world.tools.set('nft list tables', 'table inet causeway_000000000000\n')
    expect(await complaints()).toEqual([expect.stringMatching(/^service address: warn, nothing here leads .*--nat/)])
    world.tools.set('nft list tables', new ToolError('not-permitted', 'no'))
    expect(await complaints()).toEqual([expect.stringContaining('run the doctor as root')])
  })

  it('lacks tools', async () => {
    world.tools.delete('ip -V')
    world.tools.delete('nft --version')
    expect(await complaints()).toEqual([
      'tools: warn, no ip, needed to give this machine the address of the endpoint; no nft, needed for --nat -> ' +
        'install iproute2 and nftables, if that is wanted',
    ])
  })

  it('breaks a check without breaking the others', async () => {
    const broken = { ...readers(), modeOf: () => Promise.reject(new Error('EACCES')) }
    const findings = await runChecks(broken)
    expect(findings).toHaveLength(13)
    expect(findings[0]).toMatchObject({ state: 'fail', message: 'could not be checked: EACCES' })
  })

  it('blames nothing on the edge where this user may not look', async () => {
    const forbidden = (): Error =>
      new Error('permission denied', { cause: Object.assign(new Error('EACCES'), { code: 'EACCES' }) })
    const denied = async () => await Promise.reject(forbidden())
    const findings = await runChecks({ ...readers(), read: denied, status: denied })
    const named = ['identity', 'certificates', 'clock', 'link', 'serving certificate', 'endpoint address']
    for (const { check, state, message, advice } of findings) {
      expect(state, check).not.toBe('fail')
      if (!named.includes(check)) continue
      expect(message).toBe('not checked: permission denied')
      expect(advice).toContain('as root')
    }
  })

  it.each([
    [undefined, 'ok', 'none is kept'],
    [{ ends: '2999-01-01T00:00:00.000Z' }, 'ok', 'until 2999-01-01T00:00:00.000Z'],
    [{ ends: '2999-01-01T00:00:00.000Z', problem: 'it is refused' }, 'warn', 'it is refused'],
    [
      { ends: '2001-01-01T00:00:00.000Z', problem: 'no link' },
      'fail',
      'has ended at 2001-01-01T00:00:00.000Z: no link',
    ],
    [{ problem: 'no account' }, 'fail', 'no account'],
  ])('tells of the token of kube-proxy: %j', async (kubeProxyToken, state, message) => {
    world.nowMs = Math.max(world.nowMs, Date.parse('2001-06-01T00:00:00Z'))
    world.edge = {
      node: 'edge-1',
      endpoint: { addresses: ['127.0.0.1'], port: 1, ...(kubeProxyToken === undefined ? {} : { kubeProxyToken }) },
    }
    const findings = await runChecks(readers())
    expect(findings.find(({ check }) => check === 'kube-proxy token')).toMatchObject({ state, message })
  })
})
