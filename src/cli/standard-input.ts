/** Reading a secret from standard input, so that it stands in no argument and in no file. */
import { CommandError } from './failure.ts'

/** Far more than a token; a whole file sent by mistake is cut off. */
const MAX_STANDARD_INPUT_BYTES = 64 * 1024

export async function readStandardInput(what: string): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_STANDARD_INPUT_BYTES)
      throw new CommandError(`standard input has more than ${MAX_STANDARD_INPUT_BYTES} bytes; that is not ${what}`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
