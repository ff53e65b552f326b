/** What the checks look at on a real machine. Nothing here writes. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import * as v from 'valibot'
import { fetchUnverifiedCa } from '../../edge/hub/hub-client.ts'
import { parseHubUrls } from '../../edge/hub/hub-url.ts'
import { createHubDial } from '../../edge/link/hub-dial.ts'
import { type Certificate, parseCertificate } from '../../identity/certificate.ts'
import { presentedCertificates } from '../../identity/peer.ts'
import { dialTcp } from '../../kube/client/connector.ts'
import { addressesOfThisMachine } from '../../network/own-addresses.ts'
import { secureAsClient } from '../../network/tls/client-tls.ts'
import { systemClock } from '../../runtime/clock.ts'
import { readFileBounded } from '../../runtime/files/atomic-file.ts'
import { within } from '../../tunnel/carriers/deadline.ts'
import { parseProxySettings } from '../../tunnel/carriers/proxy-settings.ts'
import type { CommandContext } from '../context.ts'
import { askRole } from '../control-client.ts'
import { type DoctorReaders, ToolError, type ToolFailure, type VersionAnswer } from './finding.ts'

/** The endpoint is on this machine. */
const DOCTOR_TLS_TIMEOUT_MS = 5_000
/** More than the endpoint waits for a connection to the API server, so that its own answer comes first. */
const DOCTOR_REQUEST_TIMEOUT_MS = 25_000
/** A version or a Status; who sends more is no API server. */
const MAX_DOCTOR_ANSWER_BYTES = 64 * 1024
/** Tools that ask the kernel and return. */
const DOCTOR_TOOL_TIMEOUT_MS = 10_000
/** A chain of kube-proxy with tens of thousands of services. */
const MAX_DOCTOR_TOOL_BYTES = 64 * 1024 * 1024

export function machineReaders({ clock, environment }: CommandContext, dataDir: string): DoctorReaders {
  let status: Promise<unknown> | undefined
  const statusNow = (): Promise<unknown> => askRole(dataDir, '/v1/status')
  return {
    dataDir,
    nowMs: () => clock.nowMs(),
    modeOf: async (name) => await modeOf(join(dataDir, name)),
    read: async (name) => await readFileBounded(join(dataDir, name)),
    status: () => {
      status ??= statusNow()
      return status
    },
    statusNow,
    hubTimeMs: async (hubs) => {
      const dial = createHubDial(clock, { proxy: parseProxySettings(environment) })
      return (await fetchUnverifiedCa({ hubs: parseHubUrls(hubs), clock, dial })).hubTimeMs
    },
    ownAddresses: addressesOfThisMachine,
    hasInterface: (name) => existsSync(join('/sys/class/net', name)),
    presentedCertificate,
    versionAnswer,
    runTool,
  }
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Believes anybody: whether what is shown there is to be believed is for the checks to say, and nothing secret is sent. */
function connectToEndpoint(host: string, port: number): Promise<TLSSocket> {
  const patience = { clock: systemClock, signal: new AbortController().signal }
  const late = (): Error => new Error(`no answer within ${DOCTOR_TLS_TIMEOUT_MS / 1_000} s`)
  return within(patience, DOCTOR_TLS_TIMEOUT_MS, late, async (signal) =>
    secureAsClient(await dialTcp({ host, port }, signal), {
      host,
      protocols: ['http/1.1'],
      pair: undefined,
      verification: { by: 'nobody', because: 'only what is shown is looked at' },
      signal,
    }),
  )
}

async function presentedCertificate(host: string, port: number): Promise<Certificate> {
  const socket = await connectToEndpoint(host, port)
  const [presented = Buffer.alloc(0)] = presentedCertificates(socket)
  socket.destroy()
  return parseCertificate(presented, `the certificate of ${host}`)
}

async function versionAnswer(host: string, port: number): Promise<VersionAnswer> {
  const socket = await connectToEndpoint(host, port)
  const options = { host, port, path: '/version', createConnection: () => socket, headers: { connection: 'close' } }
  return await new Promise((resolve, reject) => {
    const asked = request({ ...options, timeout: DOCTOR_REQUEST_TIMEOUT_MS }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
        if (body.length > MAX_DOCTOR_ANSWER_BYTES) asked.destroy(new Error('the answer is too long'))
      })
      response.once('error', reject)
      response.once('end', () => resolve({ code: response.statusCode ?? 0, ...messageOf(body) }))
    })
    asked.once('timeout', () => asked.destroy(new Error(`none within ${DOCTOR_REQUEST_TIMEOUT_MS / 1_000} s`)))
    asked.once('error', reject)
    asked.end()
  })
}

/** What is no Status tells nothing. */
function messageOf(body: string): Pick<VersionAnswer, 'message'> {
  try {
    const parsed = v.safeParse(v.object({ kind: v.literal('Status'), message: v.string() }), JSON.parse(body))
    return parsed.success ? { message: parsed.output.message } : {}
  } catch {
    return {}
  }
}

function runTool(program: string, args: readonly string[]): Promise<string> {
  const env = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin`, LC_ALL: 'C' }
  const options = { env, timeout: DOCTOR_TOOL_TIMEOUT_MS, maxBuffer: MAX_DOCTOR_TOOL_BYTES }
  return new Promise((resolve, reject) => {
    execFile(program, [...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new ToolError(failureOf(error, stderr), stderr.trim() || error.message))
    })
  })
}

function failureOf(error: Error, stderr: string): ToolFailure {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing'
  return /not permitted|[Pp]ermission denied|must be root/.test(stderr) ? 'not-permitted' : 'failed'
}
