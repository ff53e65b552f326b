/** Reads a body into memory, within a size and a time. */
import type { Readable } from 'node:stream'
import type { Clock } from '../../runtime/clock.ts'
import { Refusal } from '../refusal.ts'

export interface BodyLimits {
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly clock: Clock
  /** What the client says it will send; one that says too much is not read at all. */
  readonly declaredLength: string | undefined
}

export function readBody(stream: Readable, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes, timeoutMs, clock, declaredLength } = limits
  const tooLarge = (): Refusal =>
    new Refusal('body-too-large', `the body is larger than the ${maxBytes} bytes that are allowed here`)
  if (Number(declaredLength ?? 0) > maxBytes) return Promise.reject(tooLarge())
  if (stream.destroyed) return Promise.reject(brokenOff())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      if (length > maxBytes) settle(() => reject(tooLarge()))
      else chunks.push(chunk)
    }
    const onEnd = (): void => settle(() => resolve(Buffer.concat(chunks)))
    const onBreak = (): void => settle(() => reject(brokenOff()))
    const cancel = clock.schedule(timeoutMs, () =>
      settle(() => reject(new Refusal('too-slow', `the body did not arrive within ${timeoutMs / 1000} seconds`))),
    )
    const settle = (act: () => void): void => {
      cancel()
      stream.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak)
      act()
    }
    stream.on('data', onData).on('end', onEnd).on('error', onBreak).on('close', onBreak)
  })
}

function brokenOff(): Refusal {
  return new Refusal('bad-request', 'the request broke off')
}
