/** Runs `nft` by fixed arguments and without a shell, its rules on standard input, and says what its failures mean. */
import { execFile } from 'node:child_process'

/** For `nft` to end: it asks the kernel and returns; longer means that the kernel holds its lock. */
const NFT_COMMAND_TIMEOUT_MS = 10_000
/** Our table has a handful of rules. */
const MAX_NFT_OUTPUT_BYTES = 1024 * 1024

export type NftFailure = 'not-installed' | 'not-permitted' | 'not-supported' | 'not-there' | 'failed'

export class NftCommandError extends Error {
  override readonly name = 'NftCommandError'
  readonly failure: NftFailure

  constructor(failure: NftFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.failure = failure
  }
}

/** Resolves with what it printed; rejects with an `NftCommandError`. */
export type NftCommand = (args: readonly string[], input?: string) => Promise<string>

export const runNft: NftCommand = (args, input = '') => {
  // Daemons often have no sbin in their path, and the texts below are those of the C locale.
  const env = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin`, LC_ALL: 'C' }
  const options = { env, timeout: NFT_COMMAND_TIMEOUT_MS, maxBuffer: MAX_NFT_OUTPUT_BYTES }
  return new Promise((resolve, reject) => {
    const child = execFile('nft', [...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(nftCommandError(args, error, stderr))
    })
    // One that could not be started, or ended early, has told why already.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/** What a failure means, by the words of nft and of the kernel. */
export function nftCommandError(args: readonly string[], cause: Error, stderr: string): NftCommandError {
  const words = stderr.trim().replaceAll(/\s+/g, ' ')
  const message = `nft ${args.join(' ')}: ${words === '' ? cause.message : words}`
  return new NftCommandError(failureOf(cause, words), message, { cause })
}

function failureOf(cause: Error, words: string): NftFailure {
  if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return 'not-installed'
  if (/Operation not permitted|Permission denied|must be root/.test(words)) return 'not-permitted'
  if (/not supported/.test(words)) return 'not-supported'
  return /No such file or directory/.test(words) ? 'not-there' : 'failed'
}
