import { once } from 'node:events'
import { constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DAY_MS } from '../../../test/worlds/edge-hub.ts'
import { loudNet } from '../../../test/worlds/loud-net.ts'
import { certificatePem } from '../../identity/certificate.ts'
import { userName } from '../../identity/distinguished-name.ts'
import { issueSelfSignedCa, validityFromNow } from '../../identity/issue.ts'
import { generateKeys, privateKeyPem } from '../../identity/keys.ts'
import { ControlSocket } from '../../process/control-socket.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { CommandContext } from '../context.ts'
import type { DoctorReaders } from './finding.ts'
import { machineReaders } from './machine-readers.ts'

/** Nobody listens there. A port that was listened on until just now may be somebody else's already. */
const closedPort = 1
let folder: string
let readers: DoctorReaders

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-doctor-'))
  const context = { clock: systemClock, environment: {} } as CommandContext
  readers = machineReaders(context, folder)
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('what the doctor looks at', () => {
  it('is the folder and the files in it', async () => {
    writeFileSync(join(folder, 'x'), 'text', { mode: 0o600 })
    expect(await readers.modeOf('x')).toBe(constants.S_IFREG | 0o600)
    expect(((await readers.modeOf('.')) ?? 0) & constants.S_IFMT).toBe(constants.S_IFDIR)
    expect(String(await readers.read('x'))).toBe('text')
    expect([await readers.modeOf('y'), await readers.read('y')]).toEqual([undefined, undefined])
    await expect(readers.modeOf('x/y')).rejects.toThrow('ENOTDIR')
  })

  it('is the running process, asked once', async () => {
    await expect(readers.status()).rejects.toThrow('no running process uses the data folder')
    let asked = 0
    const running = await new ControlSocket(folder, loudNet(), { '/v1/status': () => ({ asked: ++asked }) }).start(
      AbortSignal.abort(),
      () => {},
    )
    const again = machineReaders({ clock: systemClock, environment: {} } as CommandContext, folder)
    expect([await again.status(), await again.status()]).toEqual([{ asked: 1 }, { asked: 1 }])
    expect([await again.statusNow(), await again.statusNow()]).toEqual([{ asked: 2 }, { asked: 3 }])
    await running.stop(AbortSignal.abort())
  })

  it('is the certificate that somebody presents, whoever signed it', async () => {
    const { privateKey } = await generateKeys()
    const template = { subject: userName('anybody'), ...validityFromNow(systemClock, DAY_MS) }
    const { certificate } = await issueSelfSignedCa(template, privateKey)
    const server = createServer({ cert: certificatePem(certificate), key: privateKeyPem(privateKey) })
    server.on('tlsClientError', () => {})
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect((await readers.presentedCertificate('127.0.0.1', port)).fingerprint).toBe(certificate.fingerprint)
    server.close()
    await once(server, 'close')
    await expect(readers.presentedCertificate('127.0.0.1', closedPort)).rejects.toThrow('ECONNREFUSED')
  })

  it('is what somebody answers to a question for the version', async () => {
    const { privateKey } = await generateKeys()
    const template = { subject: userName('anybody'), ...validityFromNow(systemClock, DAY_MS) }
    const { certificate } = await issueSelfSignedCa(template, privateKey)
    const answers = ['{"kind":"Status","message":"away"}', 'gateway', '{"major":"1"}', 'x'.repeat(70_000)]
    const server = createHttpsServer(
      { cert: certificatePem(certificate), key: privateKeyPem(privateKey) },
      ({ url, headers }, response) => {
        const isPlain = url === '/version' && headers.authorization === undefined
        response.writeHead(isPlain ? 503 : 500).end(answers.shift())
      },
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const ask = async (asked = port) => await readers.versionAnswer('127.0.0.1', asked)
    expect(await ask()).toEqual({ code: 503, message: 'away' })
    expect([await ask(), await ask()]).toEqual([{ code: 503 }, { code: 503 }])
    await expect(ask()).rejects.toThrow('the answer is too long')
    server.close()
    await once(server, 'close')
    await expect(ask(closedPort)).rejects.toThrow('ECONNREFUSED')
  })

  it('is what tools print, or why they do not', async () => {
    expect(await readers.runTool('sh', ['-c', 'echo hello'])).toBe('hello\n')
    await expect(readers.runTool('no-such-tool', [])).rejects.toMatchObject({ failure: 'missing' })
    await expect(readers.runTool('sh', ['-c', 'echo Operation not permitted >&2; exit 1'])).rejects.toMatchObject({
      failure: 'not-permitted',
    })
    await expect(readers.runTool('sh', ['-c', 'exit 3'])).rejects.toMatchObject({ failure: 'failed' })
  })

  it('is the machine', () => {
    expect(readers.ownAddresses()).toContain('127.0.0.1')
    expect([readers.hasInterface('lo'), readers.hasInterface('no-such-interface')]).toEqual([true, false])
  })

  it('is the time of a hub, unless nobody answers', async () => {
    await expect(readers.hubTimeMs([`https://127.0.0.1:${closedPort}`])).rejects.toThrow('127.0.0.1')
  })
})
