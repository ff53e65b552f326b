/** The addresses of this machine, on whatever interface. */
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'

/** Where Linux tells every address of its own; the runtime leaves out those of links without a carrier. */
const localRoutesFile = '/proc/net/fib_trie'

export function addressesOfThisMachine(): readonly string[] {
  const listed = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
  return [...new Set([...listed, ...localIpv4Addresses(localRoutes())])]
}

/** IPv4 addresses by the kernel's table of routes: each stands before a line that calls it local. */
export function localIpv4Addresses(fibTrie: string): string[] {
  return [...fibTrie.matchAll(/\|-- (\S+)\n\s+\/32 host LOCAL/g)].map(([, address = '']) => address)
}

function localRoutes(): string {
  try {
    return readFileSync(localRoutesFile, 'utf8')
  } catch {
    return ''
  }
}
