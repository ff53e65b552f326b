/** `causeway doctor` from outside: what it says of an edge that is well, and of one for each fault that it knows. */
import { once } from 'node:events'
import { chmodSync, cpSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { loadPki } from '../../src/apiserver/pki/pki.ts'
import { askRole } from '../../src/cli/control-client.ts'
import { type Certificate, certificatePem, readCertificates } from '../../src/identity/certificate.ts'
import { userName } from '../../src/identity/distinguished-name.ts'
import {
  type CertificateAuthority,
  issueCertificate,
  issueSelfSignedCa,
  validityFromNow,
} from '../../src/identity/issue.ts'
import { generateKeys } from '../../src/identity/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { removeFolder } from '../remove-folder.ts'
import { endAll, type Launched, patience, run } from './harness.ts'
import { HubCluster, type RunningHub } from './hub-cluster.ts'

const hourMs = 3_600_000

let cluster: HubCluster
let hub: RunningHub
let well: Launched

beforeAll(async () => {
  cluster = await HubCluster.start()
  hub = await cluster.hub('hub')
  well = await joinedEdge('well', hub)
  await serving('well')
})
afterAll(async () => {
  await cluster.close()
  await endAll()
})

async function joinedEdge(node: string, { url }: RunningHub, ...flags: string[]): Promise<Launched> {
  const token = await cluster.token(`token-${node}`, { node })
  return await cluster.edge(node, '--hub', url, '--node-name', node, '--token-file', token, ...flags)
}

interface Status {
  readonly edge: { readonly endpoint?: { readonly addresses: readonly string[]; readonly problems: readonly string[] } }
}

async function endpointOf(dataDir: string) {
  return ((await askRole(cluster.path(dataDir), '/v1/status')) as Status).edge.endpoint
}

async function serving(dataDir: string): Promise<void> {
  await vi.waitFor(async () => {
    expect((await endpointOf(dataDir))?.addresses).toEqual(['127.0.0.1'])
    // The node's own certificate comes after that of the endpoint.
    expect(cluster.has(`${dataDir}/kubelet-client.crt`)).toBe(true)
  }, patience)
}

async function stop(process: Launched): Promise<void> {
  process.kill('SIGTERM')
  await process.exited
}

interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly message: string
  readonly advice?: string
}

/** By the name of the check. */
async function doctor(dataDir: string): Promise<{ code: number | null; findings: Record<string, Finding> }> {
  const { code, stdout } = await run(['doctor', '--data-dir', dataDir, '-o', 'json'], { workingDir: cluster.folder })
  const findings = JSON.parse(stdout) as Finding[]
  return { code, findings: Object.fromEntries(findings.map((finding) => [finding.check, finding])) }
}

const failed = (findings: Record<string, Finding>): string[] =>
  Object.values(findings).flatMap(({ check, state }) => (state === 'fail' ? [check] : []))

/** Of an edge that has stopped: one that runs may write in the very moment. */
function copyOfWell(dataDir: string): void {
  cpSync(cluster.path('well'), cluster.path(dataDir), {
    recursive: true,
    filter: (path) => !lstatSync(path).isSocket(),
  })
  onTestFinished(() => removeFolder(cluster.path(dataDir)))
}

/** Like the one of the edge, but by whom and for how long one likes. */
async function otherCertificate(ca: CertificateAuthority, file: string, notAfterMs: number): Promise<void> {
  const [present]: readonly Certificate[] = readCertificates(Buffer.from(cluster.text(file)), file)
  if (present === undefined) throw new Error(`${file} is empty`)
  const { subject, names } = present
  const { publicKey } = await generateKeys()
  const life = { notBeforeMs: notAfterMs - hourMs, notAfterMs }
  const issued = await issueCertificate(ca, { subject, names, extendedKeyUsages: ['serverAuth'], ...life }, publicKey)
  writeFileSync(cluster.path(file), certificatePem(issued))
}

async function strangerCa(): Promise<CertificateAuthority> {
  const { privateKey } = await generateKeys()
  const subject = userName('stranger')
  return await issueSelfSignedCa({ subject, ...validityFromNow(systemClock, 24 * hourMs) }, privateKey)
}

describe('the doctor', () => {
  it('finds nothing that fails at an edge that is well', async () => {
    // It does not wait long for answers.
    const findings = await vi.waitFor(async () => {
      const found = await doctor('well')
      expect(failed(found.findings)).toEqual([])
      expect(found.code).toBe(0)
      return found.findings
    }, patience)
    expect(findings).toMatchObject({
      'data folder': { state: 'ok' },
      identity: { state: 'ok', message: 'node well' },
      'key modes': { state: 'ok' },
      certificates: { state: 'ok' },
      clock: { state: 'ok' },
      link: { state: 'ok', message: `well is connected with ${hub.url}` },
      'serving certificate': { state: 'ok' },
      'endpoint address': { state: 'warn', message: expect.stringContaining('only 127.0.0.1') },
      'endpoint port': { state: 'ok' },
      'API server through the tunnel': { state: 'ok', message: expect.stringMatching(/^it answers \(HTTP \d+\)$/) },
    })
    const { stdout } = await run(['doctor', '--data-dir', 'well'], { workingDir: cluster.folder })
    expect(stdout).toMatch(/^ok {4}data folder .*\n[\s\S]*\n\n\d+ ok, \d+ to look at, 0 failed\n$/)
  })

  it('says that there is no such folder', async () => {
    const { code, findings } = await doctor('nowhere')
    expect(code).toBe(1)
    expect(findings['data folder']).toMatchObject({
      state: 'fail',
      message: `there is no folder ${cluster.path('nowhere')}`,
      advice: expect.stringContaining('--data-dir'),
    })
  })

  it('says that the node has never joined', async () => {
    mkdirSync(cluster.path('empty'), { mode: 0o700 })
    const { code, findings } = await doctor('empty')
    expect(code).toBe(1)
    expect(findings['identity']).toMatchObject({
      state: 'fail',
      message: expect.stringContaining('has not joined'),
      advice: 'causeway edge join --hub URL --token-file FILE',
    })
  })

  it('says that the hub cannot be reached, and finds the rest well', async () => {
    const leaving = await cluster.hub('leaving', ...(await cluster.lastingAddress()))
    const edge = await joinedEdge('lonely', leaving)
    await serving('lonely')
    leaving.process.kill('SIGKILL')
    await leaving.process.exited
    await vi.waitFor(async () => {
      const { code, findings } = await doctor('lonely')
      expect(failed(findings)).toEqual(['link'])
      expect(code).toBe(1)
      expect(findings['link']?.message).toContain(leaving.url)
      expect(findings).toMatchObject({ clock: { state: 'warn' }, 'endpoint port': { state: 'ok' } })
    }, patience)
    await stop(edge)
  })

  it('says that the API server is away behind a hub that is well', async () => {
    const other = await HubCluster.start()
    onTestFinished(() => other.close())
    const lasting = await other.hub('hub')
    const token = await other.token('token', { node: 'cut-off' })
    const edge = await other.edge('cut-off', '--hub', lasting.url, '--node-name', 'cut-off', '--token-file', token)
    const certificates = ['cut-off/kubelet-client.crt', 'cut-off/serving.crt']
    await vi.waitFor(() => expect(certificates.map((path) => other.has(path))).toEqual([true, true]), patience)
    await other.endApiServer()
    await vi.waitFor(async () => {
      const { code, findings } = await doctor(other.path('cut-off'))
      expect(failed(findings)).toEqual(['API server through the tunnel'])
      expect(code).toBe(1)
      const { message, advice } = findings['API server through the tunnel'] ?? {}
      expect(message).toMatch(
        /^requests get HTTP 50[234]: through the tunnel: the API server cannot be reached: .*refused/,
      )
      expect(advice).toContain('see that the API server runs')
    }, patience)
    await stop(edge)
    await stop(lasting.process)
  })

  it('says that the folder is that of "causeway up", and nothing more', async () => {
    mkdirSync(cluster.path('all/edges'), { recursive: true, mode: 0o700 })
    const { code, findings } = await doctor('all')
    expect(code).toBe(1)
    expect(failed(findings)).toEqual(['identity'])
    expect(Object.keys(findings)).toEqual(['data folder', 'identity'])
    expect(findings['identity']?.advice).toContain('edges/edge-1')
  })

  it('says that another program has the port of the endpoint', async () => {
    const other = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const edge = await joinedEdge('late', hub, '--endpoint-port', `${port}`)
    await vi.waitFor(async () => expect((await endpointOf('late'))?.problems).not.toEqual([]), patience)
    const { findings } = await doctor('late')
    expect(findings['endpoint address']).toMatchObject({ state: 'warn' })
    expect(findings['endpoint address']?.message).toMatch(new RegExp(`serves no endpoint.*${port}`))
    expect(findings['endpoint port']).toMatchObject({ state: 'warn', message: 'there is nothing to connect to' })
    await stop(edge)
    other.close()
  })
})

describe('the doctor, of an edge that does not run', () => {
  beforeAll(async () => await stop(well))

  it('says so', async () => {
    copyOfWell('asleep')
    const { code, findings } = await doctor('asleep')
    expect(code).toBe(1)
    expect(failed(findings)).toEqual(['link'])
    expect(findings['link']?.advice).toContain('start the edge')
  })

  it('says that a certificate has expired', async () => {
    copyOfWell('expired')
    const { ca } = await loadPki(cluster.path('api'), { dnsNames: [], ipAddresses: [] }, systemClock)
    await otherCertificate(ca, 'expired/serving.crt', systemClock.nowMs() - 1_000)
    const { findings } = await doctor('expired')
    expect(failed(findings)).toEqual(['certificates', 'link', 'serving certificate'])
    expect(findings['certificates']?.message).toMatch(/^serving\.crt has expired at /)
  })

  it('says that the certificate is not of the CA that pods trust', async () => {
    copyOfWell('foreign')
    await otherCertificate(await strangerCa(), 'foreign/serving.crt', systemClock.nowMs() + hourMs / 2)
    const { findings } = await doctor('foreign')
    expect(failed(findings)).toEqual(['link', 'serving certificate'])
    expect(findings['serving certificate']?.message).toMatch(/^clients in pods refuse serving\.crt: /)
    expect(findings['serving certificate']?.advice).toContain('--cluster-signing-kubelet-serving-cert-file')
  })

  it('says that others may read a key', async () => {
    copyOfWell('exposed')
    chmodSync(cluster.path('exposed/edge.key'), 0o644)
    const { findings } = await doctor('exposed')
    expect(findings['key modes']).toEqual({
      check: 'key modes',
      state: 'fail',
      message: 'others may use edge.key (mode 0644)',
      advice: 'chmod 0600 edge.key',
    })
  })
})
