/**
 * Opening a listener, with errors a person can act on, and closing it.
 */
import { type AddressInfo, createServer, Server } from 'node:net'

export interface ListenAddress {
  readonly host: string
  /** 0 lets the system choose a free port. */
  readonly port: number
}

export function formatAddress({ host, port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly address: ListenAddress

  constructor(address: ListenAddress, cause: NodeJS.ErrnoException) {
    super(`cannot listen on ${formatAddress(address)}: ${explain(cause)}`, { cause })
    this.address = address
  }
}

function explain(cause: NodeJS.ErrnoException): string {
  switch (cause.code) {
    case 'EADDRINUSE':
      return 'another process already listens there'
    case 'EADDRNOTAVAIL':
      return 'this machine does not have that address'
    case 'EACCES':
      return 'this user may not use that port (ports below 1024 need a privilege)'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the name does not resolve to an address'
    default:
      return cause.message
  }
}

/** Resolves with the address really bound. The server has no error listener left over from this call. */
export function listen(server: Server, address: ListenAddress): Promise<ListenAddress> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error): void => reject(new ListenError(address, cause))
    server.once('error', onError)
    server.listen({ host: address.host, port: address.port }, () => {
      server.off('error', onError)
      const bound = server.address() as AddressInfo
      resolve({ host: bound.address, port: bound.port })
    })
  })
}

/**
 * Takes no new connections, and resolves when those that are open have ended: they are the caller's to end. The `close` of
 * Node's HTTP servers would cut those whose last answer is written and not read yet, and watch no timeouts any more.
 */
export async function closeListening(server: Server): Promise<void> {
  await new Promise<void>((resolve) => Server.prototype.close.call(server, () => resolve()))
  // Ends what an HTTP server does beside listening.
  server.close()
}

/**
 * Throws the `ListenError` that `listen` would throw now, and leaves nothing open: for programs that have much to do, and to
 * undo, before they listen.
 */
export async function checkCanListen(address: ListenAddress): Promise<void> {
  // Any free port will do, and there is one.
  if (address.port === 0) return
  const server = createServer()
  await listen(server, address)
  await new Promise<void>((resolve) => server.close(() => resolve()))
}
