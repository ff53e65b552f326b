/** Hubs and edges from outside: made as a person makes them, seen through what they print, write and answer. */
import { statSync } from 'node:fs'
import { connect, type PeerCertificate } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { clockShiftedBy, endAll, launch, patience, run } from './harness.ts'
import { ask, type Credential, HubCluster, type RunningHub } from './hub-cluster.ts'

const hourMs = 3_600_000

let cluster: HubCluster
let hub: RunningHub
/** Another one on the same cluster, whose certificates live for an hour. */
let hasty: RunningHub

beforeAll(async () => {
  cluster = await HubCluster.start()
  ;[hub, hasty] = await Promise.all([cluster.hub('hub'), cluster.hub('hasty', '--certificate-life', '1h')])
})
afterAll(async () => {
  await cluster.close()
  await endAll()
})

function mode(name: string): number {
  return statSync(cluster.path(name)).mode & 0o777
}

/** One hub hears of what another did through the cluster. */
async function everyHubSays(code: string, credential: Credential): Promise<void> {
  const told = async (): Promise<string[]> =>
    await Promise.all([hub, hasty].map(async ({ url }) => await ask(url, '/v1/node', credential)))
  await vi.waitFor(async () => expect(await told()).toEqual([code, code]), patience)
}

describe.concurrent('causeway edge join', () => {
  it('joins with the token that "token create" prints and nothing else, shows the steps, and removes the token', async () => {
    const made = await cluster.admin('token', 'create')
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect(made.stdout).toMatch(/^[0-9a-f]{64}\.[\w-]+\.[\w-]+\.[\w-]+\n$/)
    cluster.write('t-1', made.stdout)
    const joined = await cluster.join('edge-1', hub.url, 't-1', ['--node-name', 'edge-1'])
    expect(joined.code).toBe(0)
    expect(joined.stderr.split('\n').slice(0, -1)).toEqual(
      [1, 2, 3, 4, 5, 6, 7].map((step) => expect.stringContaining(`[${step}/7] `)),
    )
    expect(joined.stdout).toMatch(
      /^joined as node edge-1; the certificate is good until \d{4}-.*\nnext: causeway edge --data-dir \S+\n$/,
    )
    expect(cluster.has('t-1')).toBe(false)
    expect(['edge-1', 'edge-1/edge.key', 'edge-1/edge.crt'].map(mode)).toEqual([0o700, 0o600, 0o644])
    const told = await cluster.openssl(
      'x509 -in edge-1/edge.crt -noout -subject -ext extendedKeyUsage -nameopt RFC2253',
    )
    expect(told).toContain('subject=CN=system:node:edge-1,O=system:nodes')
    expect(told).toContain('TLS Web Client Authentication')
    expect(told).not.toContain('Server')

    const before = cluster.credential('edge-1')
    const again = await cluster.join('edge-1', hub.url, await cluster.token('t-1'))
    expect(again).toMatchObject({ code: 0 })
    expect(again.stdout).toContain('node edge-1 has joined before; nothing was changed')
    expect(cluster.credential('edge-1')).toEqual(before)
    expect(cluster.has('t-1')).toBe(false)

    const edge = await cluster.edge('edge-1')
    expect(edge.stdout).toMatch(new RegExp(`^ready  causeway edge \\S+, node edge-1, hub ${hub.url}\\n$`))
    edge.kill('SIGTERM')
    expect(await edge.exited).toEqual({ code: 0, signal: null })
  })

  it('takes the token from standard input, and the name from the token', async () => {
    await cluster.token('t-2', { node: 'edge-2' })
    const joined = await cluster.join('edge-2', hub.url, '-', [], 't-2')
    expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining('joined as node edge-2;') })
    await everyHubSays('ok', cluster.credential('edge-2'))
  })
})

describe.concurrent('causeway edge', () => {
  it('joins in one go', async () => {
    const token = await cluster.token('t-3', { node: 'edge-3', uses: 1 })
    const edge = await cluster.edge('edge-3', '--hub', hasty.url, '--token-file', token)
    expect(cluster.has('t-3')).toBe(false)
    await everyHubSays('ok', cluster.credential('edge-3'))
    edge.kill('SIGTERM')
    expect(await edge.exited).toEqual({ code: 0, signal: null })
  })

  it('rotates by itself, and from then on the old key counts for nothing', async () => {
    expect((await cluster.join('edge-8', hasty.url, await cluster.token('t-8', { node: 'edge-8' }))).code).toBe(0)
    const first = cluster.credential('edge-8')
    await everyHubSays('ok', first)
    // By its own clock ten seconds are left of it. By that of the hubs it does not end soon, so only the next one ends it.
    const environment = clockShiftedBy(hourMs - 10_000)
    const flags = ['--data-dir', 'edge-8', '--health-address', '127.0.0.1:0']
    const edge = launch(['edge', ...flags], { workingDir: cluster.folder, environment })
    const renewed = { msg: 'certificate renewed', certificate: 'edge' }
    await vi.waitFor(() => expect(edge.log).toContainEqual(expect.objectContaining(renewed)), patience)
    expect(cluster.credential('edge-8').key).not.toBe(first.key)
    await everyHubSays('certificate-revoked', first)
    await vi.waitFor(
      async () => expect(await ask(hub.url, '/v1/node', cluster.credential('edge-8'))).toBe('ok'),
      patience,
    )
    const { stdout } = await cluster.admin('nodes', '-o', 'json')
    expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ node: 'edge-8', state: 'held' }))
    edge.kill('SIGTERM')
    expect(await edge.exited).toEqual({ code: 0, signal: null })
  })

  it.each(['ec', 'rsa'])(
    'starts with certificates that OpenSSL made (%s), and their first use claims the name',
    async (kind) => {
      const node = `own-${kind}`
      const key = kind === 'rsa' ? 'genrsa -traditional -out' : 'ecparam -name prime256v1 -genkey -out'
      await cluster.exportCa(node)
      await cluster.openssl(`${key} ${node}-edge.key${kind === 'rsa' ? ' 2048' : ''}`)
      await cluster.openssl(
        `req -new -key ${node}-edge.key -subj /O=system:nodes/CN=system:node:${node} -out ${node}.csr`,
      )
      cluster.write(`${node}.ext`, 'keyUsage=digitalSignature\nextendedKeyUsage=clientAuth\n')
      const signing = `-CA ${node}.crt -CAkey ${node}.key -CAserial ${node}.srl -CAcreateserial -days 2 -extfile ${node}.ext`
      await cluster.openssl(`x509 -req -in ${node}.csr ${signing} -out ${node}-edge.crt`)
      const files = ['--ca-cert', `${node}.crt`, '--edge-cert', `${node}-edge.crt`, '--edge-key', `${node}-edge.key`]
      const edge = await cluster.edge(node, '--hub', hub.url, ...files)
      expect(edge.stdout).toContain(`node ${node}`)
      await vi.waitFor(
        async () => expect(await cluster.claims()).toContainEqual(expect.objectContaining({ node, state: 'held' })),
        patience,
      )
      edge.kill('SIGTERM')
      expect(await edge.exited).toEqual({ code: 0, signal: null })
    },
  )
})

describe.concurrent('several hubs of a cluster', () => {
  it('are one to a node, and "nodes forget" ends it on all of them', async () => {
    await cluster.join('edge-4', `${hub.url},${hasty.url}`, await cluster.token('t-4'), ['--node-name', 'edge-4'])
    const held = cluster.credential('edge-4')
    await everyHubSays('ok', held)
    const forgotten = await cluster.admin('nodes', 'forget', 'edge-4')
    expect(forgotten).toMatchObject({ code: 0, stdout: 'node edge-4 is forgotten\n' })
    await everyHubSays('certificate-revoked', held)
    const again = await cluster.admin('nodes', 'forget', 'edge-4')
    expect(again.stdout).toContain('nobody held the name edge-4')
    const known = await runNodes('hasty')
    expect(known).toContainEqual(expect.objectContaining({ node: 'edge-4', state: 'released' }))
  })

  it('serve a certificate for the addresses they are told, and a new one when those change', async () => {
    const one = await cluster.hub('moving', '--advertise', '127.0.0.1,one.example')
    expect((await serverCertificate(one.url)).subjectaltname).toBe('DNS:one.example, IP Address:127.0.0.1')
    one.process.kill('SIGTERM')
    expect(await one.process.exited).toEqual({ code: 0, signal: null })
    const two = await cluster.hub('moving', '--advertise', '127.0.0.1,two.example')
    expect((await serverCertificate(two.url)).subjectaltname).toBe('DNS:two.example, IP Address:127.0.0.1')
    two.process.kill('SIGTERM')
    await two.process.exited
    const back = await cluster.hub('moving', '--advertise', 'one.example,127.0.0.1')
    expect((await serverCertificate(back.url)).subjectaltname).toBe('DNS:one.example, IP Address:127.0.0.1')
  })
})

describe.concurrent('causeway token and status', () => {
  it('list tokens without showing them, and revoke one on all hubs', async () => {
    const name = await cluster.token('t-5', { node: 'edge-5*', uses: 2 })
    const { stdout } = await cluster.admin('token', 'list', '-o', 'json')
    const listed = (JSON.parse(stdout) as { id: string; node: string }[]).find(({ node }) => node === 'edge-5*')
    expect(listed).toMatchObject({ state: 'valid', used: '0/2' })
    expect(stdout).not.toContain(cluster.text(name).trim().split('.')[3])
    const id = listed?.id ?? ''
    expect(await cluster.admin('token', 'revoke', id)).toMatchObject({ code: 0, stdout: `token ${id} is revoked\n` })
    expect((await cluster.admin('token', 'revoke', id)).stdout).toBe(`token ${id} was revoked before\n`)
    const unknown = await cluster.admin('token', 'revoke', 'abc')
    expect(unknown).toMatchObject({ code: 1, stderr: 'error: there is no token abc; see "causeway token list"\n' })
    const refused = await cluster.join('edge-5', hasty.url, name, ['--node-name', 'edge-5'])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('step 5 of 7, ask the hub for a certificate: ')
    expect(refused.stderr).toContain('revoked')
    expect(cluster.has(name)).toBe(true)
  })

  it('tell how a hub is, in YAML and in JSON', async () => {
    const yaml = await runStatus('hub')
    expect(yaml.stdout).toContain(`url: ${hub.url}`)
    const json = await runStatus('hub', '-o', 'json')
    expect(JSON.parse(json.stdout)).toMatchObject({ role: 'hub', pid: hub.process.pid, hub: { url: hub.url } })
    expect(mode('hub/control.sock')).toBe(0o600)
    expect((await runStatus('nothing')).code).toBe(1)
  })
})

describe.concurrent('the log of a hub', () => {
  it('has a line for each join and denial, and never a token', async () => {
    const token = cluster.text(await cluster.token('t-6', { uses: 1 }))
    expect((await cluster.join('edge-6', hub.url, '-', ['--node-name', 'edge-6'], 't-6')).code).toBe(0)
    expect((await cluster.join('edge-7', hub.url, '-', ['--node-name', 'edge-7'], 't-6')).code).toBe(1)
    const audited = { component: 'audit', event: 'join' }
    const lines = [
      { ...audited, node: 'edge-6', result: 'ok' },
      { ...audited, node: 'edge-7', result: 'token-used-up' },
    ]
    await vi.waitFor(() => {
      for (const line of lines) expect(hub.process.log).toContainEqual(expect.objectContaining(line))
    }, patience)
    expect(hub.process.stderr).not.toContain(token.trim().split('.')[3])
    expect(hub.process.stderr).not.toContain('PRIVATE KEY')
  })
})

async function runNodes(dataDir: string): Promise<unknown> {
  const { stdout } = await run(['nodes', '--data-dir', dataDir, '-o', 'json'], { workingDir: cluster.folder })
  return JSON.parse(stdout)
}

async function runStatus(dataDir: string, ...flags: string[]) {
  return await run(['status', '--data-dir', dataDir, ...flags], { workingDir: cluster.folder })
}

function serverCertificate(url: string): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate())
      socket.end()
    })
    socket.on('error', reject)
  })
}
