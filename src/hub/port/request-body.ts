/** Reads a body into memory, within a size and a time, and refuses what is beyond. */
import type { Readable } from 'node:stream'
import { ReadableSource } from '../../http/body/readable-source.ts'
import { readBody } from '../../http/body/request-body.ts'
import { BodyTooLargeError } from '../../http/server/exchange.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Refusal } from '../refusal.ts'

export interface BodyLimits {
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly clock: Clock
  /** What the client says it will send; one that says too much is not read at all. */
  readonly declaredLength: string | undefined
}

export async function readBodyWithin(stream: Readable, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes, timeoutMs, clock, declaredLength } = limits
  // The refusal is yet to be sent: nothing is destroyed for it, and whoever sends it knows what to do with the rest.
  const source = new ReadableSource(stream, { broken: brokenOff, cancel: () => {} })
  const late = new Refusal('too-slow', `the body did not arrive within ${timeoutMs / 1000} seconds`)
  let cancel = (): void => {}
  const tooSlow = new Promise<never>((_resolve, reject) => {
    cancel = clock.schedule(timeoutMs, () => reject(late))
  })
  try {
    return await Promise.race([readBody(source, declaredLength, maxBytes), tooSlow])
  } catch (error) {
    source.cancel()
    if (!(error instanceof BodyTooLargeError)) throw error
    throw new Refusal('body-too-large', `the body is larger than the ${maxBytes} bytes that are allowed here`)
  } finally {
    cancel()
  }
}

function brokenOff(): Refusal {
  return new Refusal('bad-request', 'the request broke off')
}
