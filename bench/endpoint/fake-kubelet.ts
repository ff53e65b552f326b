/**
 * A kubelet that knows one thing: whoever asks it for an exec gets bytes without end. The API server and everybody before it
 * only passes them on once the upgrade is done, so that they need not be SPDY.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { serveCalls } from '../tunnel/rpc.ts'

const chunk = Buffer.alloc(64 * 1024, 'x')
const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n'

export type KubeletApi = {
  /** The folder has the API server's own pair, which the API server does not mind to meet here. Resolves with the port. */
  listen: (directory: string) => Promise<number>
}

/** In a process of its own. */
export function serveKubelet(): void {
  serveCalls({ listen })
}

async function listen(directory: string): Promise<number> {
  const read = (name: string): Buffer => readFileSync(join(directory, name))
  const server = createServer({ cert: read('apiserver.crt'), key: read('apiserver.key') })
  server.on('upgrade', (_request, socket) => {
    socket.write(head)
    socket.resume()
    pipeline(endless(), socket, () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function endless(): Readable {
  return new Readable({
    read() {
      this.push(chunk)
    },
  })
}
