/**
 * Which nodes claim a range of addresses. A lookup costs one step for each length of prefix in use, of which a cluster has one
 * or two, however many nodes it has.
 */

import { canonicalIp } from '../../network/host.ts'
import { ipAddressBytes } from '../../network/ip-address.ts'
import { Owners } from './owners.ts'

const ipv4MappedBits = 96

interface Cidr {
  readonly bytes: Uint8Array
  readonly bits: number
}

/** All ranges with the same length of prefix, by their first bits. */
interface PrefixLength {
  readonly addressBytes: number
  readonly bits: number
  readonly owners: Owners
}

export class CidrOwners {
  readonly #lengths = new Map<string, PrefixLength>()

  /** Text that is no range claims nothing. */
  add(cidr: string, node: string): void {
    const parsed = parseCidr(cidr)
    if (parsed === undefined) return
    const { bytes, bits } = parsed
    const key = `${bytes.length}/${bits}`
    const length = this.#lengths.get(key) ?? { addressBytes: bytes.length, bits, owners: new Owners() }
    this.#lengths.set(key, length)
    length.owners.add(prefixOf(bytes, bits), node)
  }

  remove(cidr: string, node: string): void {
    const parsed = parseCidr(cidr)
    if (parsed === undefined) return
    const { bytes, bits } = parsed
    const key = `${bytes.length}/${bits}`
    const length = this.#lengths.get(key)
    length?.owners.remove(prefixOf(bytes, bits), node)
    if (length?.owners.isEmpty === true) this.#lengths.delete(key)
  }

  /** Everyone whose range holds the address, be it wide or narrow: a narrower range takes nothing away from a wider one. */
  of(address: string): ReadonlySet<string> {
    const found = new Set<string>()
    const bytes = ipAddressBytes(address)
    if (bytes === undefined) return found
    for (const { addressBytes, bits, owners } of this.#lengths.values()) {
      if (addressBytes !== bytes.length) continue
      for (const node of owners.of(prefixOf(bytes, bits))) found.add(node)
    }
    return found
  }

  /** Ranges that several nodes claim in the same words. */
  get contestedCount(): number {
    return [...this.#lengths.values()].reduce((sum, { owners }) => sum + owners.contestedCount, 0)
  }
}

function parseCidr(text: string): Cidr | undefined {
  const [, address = '', bitsText = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const written = ipAddressBytes(address)
  const bytes = ipAddressBytes(canonicalIp(address) ?? '')
  if (written === undefined || bytes === undefined) return undefined
  const bits = Number(bitsText) - (bytes.length === written.length ? 0 : ipv4MappedBits)
  return bits < 0 || bits > bytes.length * 8 ? undefined : { bytes, bits }
}

function prefixOf(bytes: Uint8Array, bits: number): string {
  const prefix = Buffer.from(bytes.subarray(0, Math.ceil(bits / 8)))
  const spareBits = prefix.length * 8 - bits
  const last = prefix.at(-1)
  if (last !== undefined) prefix[prefix.length - 1] = last & (0xff << spareBits)
  return prefix.toString('hex')
}
