/** Runs `ip` of iproute2, by fixed arguments and without a shell, and says what its failures mean. */
import { execFile } from 'node:child_process'

/** For `ip` to end: it asks the kernel and returns; longer means that the kernel holds its lock. */
const IP_COMMAND_TIMEOUT_MS = 10_000
/** Nodes with thousands of pods have thousands of interfaces. */
const MAX_IP_OUTPUT_BYTES = 64 * 1024 * 1024

export type IpFailure = 'not-installed' | 'not-permitted' | 'not-supported' | 'failed'

export class IpCommandError extends Error {
  override readonly name = 'IpCommandError'
  readonly failure: IpFailure

  constructor(failure: IpFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.failure = failure
  }
}

/** Resolves with what it printed; rejects with an `IpCommandError`. */
export type IpCommand = (args: readonly string[]) => Promise<string>

export const runIp: IpCommand = (args) => {
  // Daemons often have no sbin in their path, and the texts below are those of the C locale.
  const env = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin`, LC_ALL: 'C' }
  const options = { env, timeout: IP_COMMAND_TIMEOUT_MS, maxBuffer: MAX_IP_OUTPUT_BYTES }
  return new Promise((resolve, reject) => {
    execFile('ip', [...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(ipCommandError(args, error, stderr))
    })
  })
}

/** What a failure means, by the words of iproute2 and of the kernel. */
export function ipCommandError(args: readonly string[], cause: Error, stderr: string): IpCommandError {
  const words = stderr.trim().replaceAll(/\s+/g, ' ')
  const message = `ip ${args.join(' ')}: ${words === '' ? cause.message : words}`
  return new IpCommandError(failureOf(cause, words), message, { cause })
}

function failureOf(cause: Error, words: string): IpFailure {
  if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return 'not-installed'
  if (/Operation not permitted|Permission denied/.test(words)) return 'not-permitted'
  return /Unknown device type|not supported/.test(words) ? 'not-supported' : 'failed'
}
