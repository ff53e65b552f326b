/** Asking a running role through the control socket in its data folder. */
import { request } from 'node:http'
import { join } from 'node:path'
import { CONTROL_SOCKET_NAME } from '../process/control-socket.ts'
import { CommandError } from './failure.ts'

/** A status with thousands of nodes fits; more would be printed by nobody. */
const MAX_CONTROL_ANSWER_BYTES = 64 * 1024 * 1024
/** For an answer of the control socket: the process is on this machine and has it in memory. */
const CONTROL_ANSWER_TIMEOUT_MS = 10_000

/** What the role answers on that path; `undefined` if it does not know the path. */
export async function askRole(dataDir: string, path: string): Promise<unknown> {
  return await talk(dataDir, 'GET', path)
}

/** Has the role do something, which the words say; `undefined` if it does not know how. */
export async function tellRole(dataDir: string, path: string, words: readonly string[]): Promise<unknown> {
  return await talk(dataDir, 'POST', [path, ...words.map(encodeURIComponent)].join('/'))
}

async function talk(dataDir: string, method: 'GET' | 'POST', path: string): Promise<unknown> {
  const socketPath = join(dataDir, CONTROL_SOCKET_NAME)
  const { status, body } = await exchange(socketPath, method, path).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(explain(dataDir, error), { cause: error })
  })
  if (status === 404) return undefined
  const value: unknown = JSON.parse(body)
  if (status === 200) return value
  const { message } = value as { message?: string }
  throw new CommandError(
    status === 400 ? String(message) : `the process that uses ${dataDir} could not answer: ${message}`,
  )
}

function exchange(socketPath: string, method: 'GET' | 'POST', path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path, timeout: CONTROL_ANSWER_TIMEOUT_MS }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        body += text
        if (body.length > MAX_CONTROL_ANSWER_BYTES) response.destroy(new Error('the answer is too long'))
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }))
      response.once('error', reject)
    })
    asked.once('timeout', () => asked.destroy(new Error(`no answer within ${CONTROL_ANSWER_TIMEOUT_MS / 1000} s`)))
    asked.once('error', reject)
    asked.end()
  })
}

function explain(dataDir: string, error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return `no running process uses the data folder ${dataDir}; start one, or name its folder with --data-dir`
    case 'EACCES':
      return `you may not use ${join(dataDir, CONTROL_SOCKET_NAME)}; ask as the user who runs the process, or as root`
    default:
      return `cannot ask the process that uses ${dataDir}: ${error.message}`
  }
}
