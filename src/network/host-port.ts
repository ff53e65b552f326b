/** `host:port` as people, rules and peers write it. An IPv6 address stands in brackets, and nothing else does. */
import { canonicalHost } from './host.ts'

const maxPort = 65_535

export interface HostPort {
  /** A DNS name in lower case without the last dot, or an IP address in its canonical text. */
  readonly host: string
  readonly port: number
}

/** `undefined` if it is none. */
export function parseHostPort(text: string): HostPort | undefined {
  const parts = splitHostPort(text)
  if (parts === undefined) return undefined
  const host = canonicalHost(parts.host)
  const port = parsePort(parts.port)
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** Where the server of a kubeconfig listens. `undefined` if the URL names no host that could be dialled. */
export function hostPortOfUrl(url: URL): HostPort | undefined {
  const host = canonicalHost(url.hostname.replace(/^\[|\]$/g, ''))
  const defaultPort = url.protocol === 'http:' ? 80 : 443
  return host === undefined ? undefined : { host, port: url.port === '' ? defaultPort : Number(url.port) }
}

/** Only what has a colon stands in brackets: an IPv6 address, or a range of them. */
const hostAndPort = /^(?:\[(?<inner>[0-9a-fA-F.]*:[0-9a-fA-F:.]*(?:\/\d+)?)\]|(?<outer>[^:[\]]+)):(?<port>[^:]+)$/

/** The two sides of the colon, neither of them looked at; the brackets are gone. */
export function splitHostPort(text: string): { readonly host: string; readonly port: string } | undefined {
  const { inner, outer, port } = hostAndPort.exec(text)?.groups ?? {}
  const host = inner ?? outer
  return host === undefined || port === undefined ? undefined : { host, port }
}

export function parsePort(text: string): number | undefined {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= maxPort ? port : undefined
}
