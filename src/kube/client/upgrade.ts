/** Asks over a fresh connection to leave HTTP behind. */
import { request as nodeRequest } from 'node:http'
import type { Duplex } from 'node:stream'
import type { UpgradeResult } from './transport.ts'

export interface UpgradeOptions {
  readonly method: string
  readonly path: string
  readonly headers: string[]
  readonly signal: AbortSignal
  readonly maxHeaderSize: number
}

/** undici drops the body of a declined upgrade, and with it the Status that explains it; `node:http` does not. */
export function negotiate(stream: Duplex, options: UpgradeOptions): Promise<UpgradeResult> {
  return new Promise((resolve, reject) => {
    const request = nodeRequest({ ...options, createConnection: () => stream })
    request.on('upgrade', (response, _socket, head) => {
      if (head.length > 0) stream.unshift(head)
      destroyOnAbort(stream, options.signal)
      resolve({ type: 'upgraded', headers: response.headers, stream })
    })
    request.on('response', (body) => {
      resolve({ type: 'declined', response: { status: body.statusCode ?? 0, headers: body.headers, body } })
    })
    request.on('error', (error) => {
      stream.destroy()
      reject(error)
    })
    request.end()
  })
}

function destroyOnAbort(stream: Duplex, signal: AbortSignal): void {
  const destroy = (): void => void stream.destroy()
  signal.addEventListener('abort', destroy, { once: true })
  stream.once('close', () => signal.removeEventListener('abort', destroy))
}
