import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ask, type HubWorld, signingRequest, startHub } from '../../../test/worlds/hub-world.ts'
import { certificatePem, readCertificates } from '../../identity/certificate.ts'
import { privateKeyPem } from '../../identity/keys.ts'

const run = promisify(execFile)

const hasCurl = await run('curl', ['--version']).then(
  () => true,
  () => false,
)

/** What curl prints, with the status and the version of HTTP in the last line. */
async function curl(world: HubWorld, folder: string, path: string, ...options: string[]): Promise<string> {
  const trust = ['--cacert', joinPath(folder, 'ca.crt')]
  const report = ['--silent', '--show-error', '--write-out', '\n%{http_code} %{http_version}']
  const { stdout } = await run('curl', [...report, ...trust, ...options, `https://127.0.0.1:${world.port}${path}`])
  return stdout
}

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(joinPath(tmpdir(), 'causeway-curl-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(joinPath(folder, name), text)
  return folder
}

describe.runIf(hasCurl)('plain curl (where it is installed)', () => {
  it('fetches both CAs, joins, renews and checks in', async () => {
    const world = await startHub()
    const caPem = certificatePem(world.cluster.ca.certificate)
    const { pem, keys } = await signingRequest('edge-1')
    const folder = await folderWith({ 'ca.crt': caPem, 'edge.csr': pem, 'edge.key': privateKeyPem(keys.privateKey) })
    expect(await curl(world, folder, '/ca.crt')).toBe(`${caPem}\n200 1.1`)
    expect(await curl(world, folder, '/k8s/ca.crt')).toBe(`${caPem}\n200 1.1`)
    const post = ['--data-binary', `@${joinPath(folder, 'edge.csr')}`]
    const token = ['--header', `Authorization: Bearer ${await world.cluster.mint()}`]
    const certificate = await curl(world, folder, '/edge.crt', ...post, ...token)
    expect(certificate).toMatch(/\n200 1\.1$/)
    await writeFile(joinPath(folder, 'edge.crt'), certificatePem(...readCertificates(certificate, 'the answer')))
    const present = ['--cert', joinPath(folder, 'edge.crt'), '--key', joinPath(folder, 'edge.key')]
    expect(await curl(world, folder, '/v1/node', ...present)).toMatch(/^{"node":"edge-1",.*}\n\n200 1\.1$/)
    expect(await curl(world, folder, '/edge.crt', ...post, ...present)).toMatch(/\n200 1\.1$/)
  })

  it('is told what went wrong, also while it still sends', async () => {
    const world = await startHub()
    const folder = await folderWith({
      'ca.crt': certificatePem(world.cluster.ca.certificate),
      'large.csr': 'A'.repeat(2 * 1024 * 1024),
      'edge.csr': (await signingRequest('edge-1')).pem,
    })
    const token = ['--header', `Authorization: Bearer ${await world.cluster.mint()}`]
    for (const expectation of [[], ['--header', 'Expect:']]) {
      const post = ['--data-binary', `@${joinPath(folder, 'large.csr')}`, ...token, ...expectation]
      expect(await curl(world, folder, '/edge.crt', ...post)).toMatch(/"code":"body-too-large".*\n\n413 1\.1$/)
    }
    // Without --binary curl takes the line breaks away.
    const spoilt = ['--data', `@${joinPath(folder, 'edge.csr')}`, ...token]
    expect(await curl(world, folder, '/edge.crt', ...spoilt)).toMatch(/--data-binary.*\n\n400 1\.1$/)
    expect(await curl(world, folder, '/edge.crt')).toMatch(/"code":"method-not-allowed".*\n\n405 1\.1$/)
  })
})

// The hub prefers HTTP/1.1, and curl always offers both, so HTTP/2 needs a client that offers nothing else.
it('HTTP/2 serves both CAs alike', async () => {
  const world = await startHub()
  for (const path of ['/ca.crt', '/k8s/ca.crt']) {
    const [one, two] = [await ask(world, { path }), await ask(world, { path, http2: true })]
    expect({ status: two.status, body: two.body }).toEqual({ status: 200, body: one.body })
    expect(two.headers['content-type']).toBe('application/x-pem-file')
  }
})
