/** A byte stream to an address: straight, or through an HTTP proxy by CONNECT. */
import { type IncomingMessage, request as sendRequest } from 'node:http'
import type { Duplex } from 'node:stream'
import type { DialTcp } from '../../network/cable/cable.ts'
import { formatAddress, type ListenAddress } from '../../network/listen.ts'
import { connectTcp } from '../../network/tcp.ts'
import { type Patience, within } from './deadline.ts'
import { connectFailure, DialError } from './dial-error.ts'
import type { HttpProxy, ProxySettings } from './proxy-settings.ts'
import { handshakeWithMiddleman } from './tls-handshake.ts'

/** Idle time before the kernel asks whether the far machine is still there; the session's own pings ask far sooner. */
const CARRIER_KEEP_ALIVE_MS = 30_000

/** Each step of dialling for itself; a satellite link needs three seconds for the slowest of them. */
export const DIAL_STEP_TIMEOUT_MS = 10_000

export interface DialTimeouts {
  /** For a TCP connection, name resolution included. */
  readonly connectMs: number
  /** For a proxy to connect us. */
  readonly proxyMs: number
  /** For one TLS handshake. */
  readonly handshakeMs: number
  /** For the answer to the request for a WebSocket. */
  readonly upgradeMs: number
}

export const DIAL_TIMEOUTS: DialTimeouts = {
  connectMs: DIAL_STEP_TIMEOUT_MS,
  proxyMs: DIAL_STEP_TIMEOUT_MS,
  handshakeMs: DIAL_STEP_TIMEOUT_MS,
  upgradeMs: DIAL_STEP_TIMEOUT_MS,
}

export interface PathOptions extends Patience {
  readonly proxy?: ProxySettings | undefined
  /** The CA of an `https://` proxy, where public CAs do not know it. */
  readonly proxyCa?: string | undefined
  readonly timeouts: DialTimeouts
  /** What makes the connections, in place of the network itself. */
  readonly dial?: DialTcp | undefined
}

/** A connection, of the kernel or of what stands in for it. */
type PathSocket = Duplex & { readonly localAddress?: string | undefined }

export interface Path {
  readonly socket: PathSocket
  /** The proxy it leads through. */
  readonly via: string | undefined
}

export async function openPath(target: ListenAddress, options: PathOptions): Promise<Path> {
  const proxy = options.proxy?.proxyFor(target.host, target.port)
  const what = `the hub ${formatAddress(target)}`
  if (proxy === undefined) return { socket: await connectPatiently(target, what, 'connect', options), via: undefined }
  const via = formatAddress(proxy)
  const socket = await connectProxy(proxy, `the proxy ${via} (HTTPS_PROXY)`, options)
  return { socket: await askProxy(socket, target, proxy, options), via }
}

async function connectPatiently(
  target: ListenAddress,
  what: string,
  phase: 'connect' | 'proxy',
  options: PathOptions,
): Promise<PathSocket> {
  const { timeouts, dial = dialNetwork } = options
  const { connectMs } = timeouts
  const late = (): Error => {
    const message = `no connection to ${what} within ${connectMs / 1000} s; a firewall may swallow the packets`
    return new DialError('timeout', phase, message)
  }
  try {
    const socket = await within(options, connectMs, late, (signal) => dial(target, signal))
    // Stays: an error before somebody takes it over must not end the process.
    return socket.on('error', () => {})
  } catch (error) {
    throw error instanceof DialError || options.signal.aborted ? error : connectFailure(what, phase, error)
  }
}

const dialNetwork: DialTcp = (target, signal) => connectTcp(target, signal, { keepAliveMs: CARRIER_KEEP_ALIVE_MS })

async function connectProxy(proxy: HttpProxy, what: string, options: PathOptions): Promise<PathSocket> {
  const socket = await connectPatiently(proxy, what, 'proxy', options)
  if (!proxy.secure) return socket
  const { clock, signal, proxyCa: ca, timeouts } = options
  const caOption = 'NODE_EXTRA_CA_CERTS'
  try {
    return await handshakeWithMiddleman(socket, {
      clock,
      signal,
      what,
      host: proxy.host,
      ca,
      caOption,
      limitMs: timeouts.handshakeMs,
    })
  } catch (error) {
    if (!(error instanceof DialError)) throw error
    throw new DialError('proxy', 'proxy', error.message, { cause: error })
  }
}

async function askProxy(
  socket: PathSocket,
  target: ListenAddress,
  proxy: HttpProxy,
  options: PathOptions,
): Promise<PathSocket> {
  const { proxyMs } = options.timeouts
  const address = formatAddress(target)
  const name = `the proxy ${formatAddress(proxy)} (HTTPS_PROXY)`
  const late = (): Error =>
    new DialError('proxy', 'proxy', `${name} did not connect us to ${address} within ${proxyMs / 1000} s`)
  try {
    const answer = await within(options, proxyMs, late, (signal) => requestTunnel(socket, address, proxy, signal))
    if (answer.statusCode !== 200) throw refusedByProxy(name, address, answer)
    return socket
  } catch (error) {
    socket.destroy()
    if (error instanceof DialError || options.signal.aborted) throw error
    throw new DialError('proxy', 'proxy', `${name} is not an HTTP proxy: ${(error as Error).message}`, { cause: error })
  }
}

function requestTunnel(
  socket: PathSocket,
  address: string,
  proxy: HttpProxy,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { authorization } = proxy
    const request = sendRequest({
      method: 'CONNECT',
      path: address,
      headers: { host: address, ...(authorization && { 'proxy-authorization': authorization }) },
      createConnection: () => socket,
      signal,
    })
    request.on('error', reject)
    request.on('connect', (answer, _socket, head) => {
      // Bytes before our own would belong to a protocol in which the server speaks first.
      if (head.length > 0) socket.unshift(head)
      resolve(answer)
    })
    request.end()
  })
}

function refusedByProxy(name: string, address: string, answer: IncomingMessage): DialError {
  const { statusCode = 0, statusMessage = '' } = answer
  const said = `${name} refuses to connect us to ${address}: ${statusCode} ${statusMessage}`.trimEnd()
  const advice =
    statusCode === 407
      ? '; it wants a user and a password: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT'
      : statusCode >= 500
        ? '; it may not reach the hub itself'
        : "; its rules must allow CONNECT to the hub's port, or NO_PROXY must name the hub"
  return new DialError('proxy', 'proxy', said + advice)
}
