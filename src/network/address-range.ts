/** A range of IP addresses, made once and asked often. */
import { BlockList, isIPv4 } from 'node:net'

export class AddressRange {
  readonly prefix: number
  readonly #family: 'ipv4' | 'ipv6'
  readonly #list = new BlockList()

  /** `base` in canonical text. */
  constructor(base: string, prefix: number) {
    this.prefix = prefix
    this.#family = isIPv4(base) ? 'ipv4' : 'ipv6'
    this.#list.addSubnet(base, prefix, this.#family)
  }

  /** `ip` in canonical text. An address of the other family is never in it: IPv4 inside IPv6 has been taken out before. */
  holds(ip: string): boolean {
    return isIPv4(ip) === (this.#family === 'ipv4') && this.#list.check(ip, this.#family)
  }
}
