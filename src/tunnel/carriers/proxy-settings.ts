/** Which proxy leads to a host, from `HTTPS_PROXY` and `NO_PROXY` as Go programs (kubectl, kubelet) read them. */
import { BlockList, isIP } from 'node:net'

export interface HttpProxy {
  readonly secure: boolean
  readonly host: string
  readonly port: number
  /** The value of `Proxy-Authorization`. */
  readonly authorization?: string | undefined
}

export interface ProxySettings {
  /** The proxy for a host and port, or nothing where the way is direct. */
  proxyFor(host: string, port: number): HttpProxy | undefined
}

export class ProxySettingsError extends Error {
  override readonly name = 'ProxySettingsError'
}

/** Throws a `ProxySettingsError`, which never repeats a password. */
export function parseProxySettings(environment: Readonly<Record<string, string | undefined>>): ProxySettings {
  const variable = (name: string): string => environment[name] || environment[name.toLowerCase()] || ''
  const proxyText = variable('HTTPS_PROXY').trim()
  const proxy = proxyText === '' ? undefined : parseProxy(proxyText)
  const exceptions = variable('NO_PROXY').split(',').map(parseException)
  return {
    proxyFor: (host, port) => {
      if (proxy === undefined || isLocal(host)) return undefined
      const name = host.toLowerCase().replace(/\.$/, '')
      return exceptions.some((matches) => matches(name, port)) ? undefined : proxy
    },
  }
}

function parseProxy(text: string): HttpProxy {
  const full = text.includes('://') ? text : `http://${text}`
  if (!URL.canParse(full)) throw new ProxySettingsError('HTTPS_PROXY is no URL; write it like http://proxy:3128')
  const { protocol, hostname, port, username, password } = new URL(full)
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new ProxySettingsError(
      `HTTPS_PROXY names a proxy of the kind ${protocol}//; only http:// and https:// can be used`,
    )
  const secure = protocol === 'https:'
  return {
    secure,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 443 : 80) : Number(port),
    authorization: username === '' && password === '' ? undefined : basic(username, password),
  }
}

function basic(username: string, password: string): string {
  try {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return `Basic ${Buffer.from(credentials).toString('base64')}`
  } catch {
    throw new ProxySettingsError('HTTPS_PROXY has a user or password with a stray %; write a % as %25')
  }
}

type Exception = (host: string, port: number) => boolean

/** `*`, an address, a network, `name` (with everything below it) or `.name` (only what is below); maybe with a port. */
function parseException(text: string): Exception {
  const entry = text.trim().toLowerCase()
  if (entry === '') return () => false
  if (entry === '*') return () => true
  const network = parseNetwork(entry)
  if (network !== undefined) return (host) => matchesNetwork(network, host)
  const { host, port: onlyPort } = splitPort(entry)
  const matchesPort = (port: number): boolean => onlyPort === undefined || onlyPort === port
  if (isIP(host) !== 0) {
    const address = parseNetwork(`${host}/${isIP(host) === 4 ? 32 : 128}`)
    return (candidate, port) => address !== undefined && matchesNetwork(address, candidate) && matchesPort(port)
  }
  const name = host.replace(/^\*/, '')
  const below = name.startsWith('.') ? name : `.${name}`
  return (candidate, port) => (candidate === name || candidate.endsWith(below)) && matchesPort(port)
}

function splitPort(entry: string): { host: string; port?: number } {
  if (isIP(entry) !== 0) return { host: entry }
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? []
  const host = bracketed ?? plain ?? entry
  return port === undefined ? { host } : { host, port: Number(port) }
}

function parseNetwork(entry: string): BlockList | undefined {
  const [address = '', bits = '', ...rest] = entry.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return undefined
  if (Number(bits) > (version === 4 ? 32 : 128)) return undefined
  const network = new BlockList()
  network.addSubnet(address, Number(bits), version === 4 ? 'ipv4' : 'ipv6')
  return network
}

function matchesNetwork(network: BlockList, host: string): boolean {
  const version = isIP(host)
  return version !== 0 && network.check(host, version === 4 ? 'ipv4' : 'ipv6')
}

/** What never leaves this machine needs no proxy, whatever the settings say. */
function isLocal(host: string): boolean {
  return host.toLowerCase() === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
