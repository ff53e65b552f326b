/**
 * Reaches a hub by whatever carrier gets through: straight TLS, else a WebSocket, through a proxy where one is configured. A
 * certificate that is not the hub's ends the attempt: no other carrier is tried with a weaker check, since there is none.
 */

import type { DialTcp } from '../../network/cable/cable.ts'
import { formatAddress, type ListenAddress } from '../../network/listen.ts'
import { INNER_TLS_PROTOCOL, SESSION_PROTOCOL, WEBSOCKET_PROTOCOL } from '../../protocol/versions.ts'
import type { Carrier } from '../carrier.ts'
import { type ByteSocket, SocketCarrier } from '../socket-carrier.ts'
import { CarrierMemory, type PlainCarrier } from './carrier-memory.ts'
import type { Patience } from './deadline.ts'
import { type CarrierKind, DialError, type FailedAttempt } from './dial-error.ts'
import { upgradeToWebSocket } from './dial-websocket.ts'
import type { ProxySettings } from './proxy-settings.ts'
import { DIAL_TIMEOUTS, type DialTimeouts, openPath, type Path } from './tcp-path.ts'
import {
  type ClientIdentity,
  type HubCertificateSummary,
  handshakeWithHub,
  handshakeWithMiddleman,
  type VerifyPeer,
} from './tls-handshake.ts'

export interface DialHubOptions extends Patience {
  /** `https://host:port`. */
  readonly url: URL
  /** The name to ask for, where it is not the host of the address. */
  readonly serverName?: string | undefined
  readonly tls: () => ClientIdentity
  readonly verifyPeer: VerifyPeer
  readonly carriers: 'auto' | PlainCarrier
  readonly proxy?: ProxySettings | undefined
  /** The CA of an `https://` proxy, where public CAs do not know it. */
  readonly proxyCa?: string | undefined
  /** The mutual handshake runs inside a WebSocket whose own TLS somebody else ends, known by `outerCa` or by public CAs. */
  readonly innerTls?: { readonly outerCa?: string | undefined } | undefined
  readonly timeouts?: Partial<DialTimeouts> | undefined
  /** What makes the connections, in place of the network itself. */
  readonly dial?: DialTcp | undefined
  /** Shared between calls. */
  readonly memory?: CarrierMemory | undefined
}

export interface DialledCarrier {
  readonly carrier: Carrier
  readonly kind: CarrierKind
  /** The proxy on the way. */
  readonly via: string | undefined
  /** The address of this machine, as the first hop sees it. */
  readonly localAddress: string | undefined
  readonly hubCertificate: HubCertificateSummary
  /** What was tried before, and why it failed. */
  readonly attempts: readonly FailedAttempt[]
}

/** Rejects with a `DialError`, or with the reason of the signal. */
export async function dialHub(options: DialHubOptions): Promise<DialledCarrier> {
  if (options.innerTls !== undefined) return await dialInner(options, options.innerTls.outerCa)
  if (options.carriers !== 'auto') return await dialPlain(options.carriers, options, [])
  const { url, clock, memory = new CarrierMemory(clock) } = options
  const attempts: FailedAttempt[] = []
  for (const kind of memory.order(url)) {
    try {
      const dialled = await dialPlain(kind, options, attempts)
      memory.worked(url, kind)
      return dialled
    } catch (error) {
      if (!(error instanceof DialError)) throw error
      const isLast = attempts.length > 0
      if (isLast || !mayDifferElsewhere(error)) {
        memory.failed(url)
        throw error.after(attempts)
      }
      attempts.push({ kind, error })
    }
  }
  throw new Error('there is no carrier to try')
}

/** Whether another carrier on the same way may get through: not where the way itself, or the peer, is the trouble. */
function mayDifferElsewhere({ code, phase, refusal }: DialError): boolean {
  if (phase === 'handshake') return code === 'alpn' || code === 'tls' || code === 'timeout'
  return phase === 'upgrade' && refusal === undefined
}

async function dialPlain(
  kind: PlainCarrier,
  options: DialHubOptions,
  attempts: readonly FailedAttempt[],
): Promise<DialledCarrier> {
  const route = routeOf(options)
  const path = await openPath(route.target, route)
  const protocol = kind === 'tls' ? SESSION_PROTOCOL : 'http/1.1'
  const { socket, certificate } = await handshakeWithHub(path.socket, { ...route.hubHandshake, protocol })
  const carried =
    kind === 'tls' ? socket : await upgradeToWebSocket(socket, { ...route.upgrade, protocol: WEBSOCKET_PROTOCOL })
  return dialled({ kind, carried, certificate, path, target: route.target, attempts })
}

async function dialInner(options: DialHubOptions, ca: string | undefined): Promise<DialledCarrier> {
  if (options.carriers === 'tls') throw new TypeError('inner TLS runs in a WebSocket, and WebSockets are switched off')
  const route = routeOf(options)
  const path = await openPath(route.target, route)
  const { host } = route.target
  const outer = await handshakeWithMiddleman(path.socket, { ...route.handshake, host, ca, caOption: '--outer-ca' })
  const stream = await upgradeToWebSocket(outer, { ...route.upgrade, protocol: INNER_TLS_PROTOCOL })
  const { socket, certificate } = await handshakeWithHub(stream, { ...route.hubHandshake, protocol: SESSION_PROTOCOL })
  const { target } = route
  return dialled({ kind: 'websocket+inner-tls', carried: socket, certificate, path, target, attempts: [] })
}

/** What all steps of one attempt have in common. */
function routeOf(options: DialHubOptions) {
  const { url, clock, signal, proxy, proxyCa, dial, serverName, verifyPeer } = options
  const target: ListenAddress = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 443) }
  const timeouts: DialTimeouts = { ...DIAL_TIMEOUTS, ...options.timeouts }
  const common = { clock, signal, what: `the hub ${formatAddress(target)}` }
  const handshake = { ...common, host: serverName ?? target.host, limitMs: timeouts.handshakeMs }
  return {
    ...{ target, clock, signal, proxy, proxyCa, dial, timeouts, handshake },
    hubHandshake: { ...handshake, identity: options.tls(), verifyPeer },
    upgrade: { ...common, url, limitMs: timeouts.upgradeMs },
  }
}

interface Success {
  readonly kind: CarrierKind
  readonly carried: ByteSocket
  readonly certificate: HubCertificateSummary
  readonly path: Path
  readonly target: ListenAddress
  readonly attempts: readonly FailedAttempt[]
}

function dialled({ kind, carried, certificate, path, target, attempts }: Success): DialledCarrier {
  const { via, socket } = path
  const carrier = new SocketCarrier(
    carried,
    `${kind} ${formatAddress(target)}${via === undefined ? '' : ` via ${via}`}`,
  )
  return { carrier, kind, via, localAddress: socket.localAddress, hubCertificate: certificate, attempts }
}
