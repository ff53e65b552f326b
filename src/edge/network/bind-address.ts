/** The address that forwards listen on: which ones can be had, which must be made, and which serve only this machine. */
import { BlockList, isIPv4 } from 'node:net'
import { canonicalIpAddress } from '../../network/ip-address.ts'

export class BindAddressError extends Error {
  override readonly name = 'BindAddressError'
}

const ranges = {
  unspecified: blockList(['0.0.0.0', 32], ['::', 128]),
  loopback: blockList(['127.0.0.0', 8], ['::1', 128]),
  linkLocal: blockList(['169.254.0.0', 16], ['fe80::', 10]),
  notOurs: blockList(['224.0.0.0', 4], ['240.0.0.0', 4], ['ff00::', 8], ['0.0.0.0', 8]),
}

function blockList(...subnets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList()
  for (const [base, prefix] of subnets) list.addSubnet(base, prefix, isIPv4(base) ? 'ipv4' : 'ipv6')
  return list
}

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/** In its canonical text. */
export function parseBindAddress(text: string): string {
  const address = canonicalIpAddress(text.trim().replace(/^\[(.*)\]$/, '$1'))
  if (address === undefined)
    throw new BindAddressError(`bind address ${JSON.stringify(text)} is no IP address; names cannot be bound`)
  if (!isIn(ranges.unspecified, address) && isIn(ranges.notOurs, address))
    throw new BindAddressError(
      `bind address ${address} is for groups of machines, or reserved; one machine cannot have it`,
    )
  return address
}

/** Every machine has these, whatever its interfaces say. */
export function isAlwaysThere(address: string): boolean {
  return isIn(ranges.unspecified, address) || isIn(ranges.loopback, address)
}

/** Why an API server could not name this address as its `--advertise-address`, where that is so. */
export function advertiseWarning(address: string): string | undefined {
  const because = (range: string): string =>
    `${address} is ${range}, and Kubernetes takes no endpoint there: programs on this node can use it, ` +
    "but an API server must not be given it as --advertise-address, so pods will not be led here by the service 'kubernetes'"
  if (isIn(ranges.loopback, address)) return because('a loopback address')
  if (isIn(ranges.linkLocal, address)) return because('a link-local address')
  if (isIn(ranges.unspecified, address)) return because('no address of its own')
  return undefined
}
