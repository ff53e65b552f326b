/** A range of IPv4 addresses for Services, and a free one out of it. */
import { randomInt } from 'node:crypto'
import { isIPv4 } from 'node:net'

export const DEFAULT_SERVICE_CIDR = '10.96.0.0/16'

/** The widest range: more addresses than anybody has Services, few enough to search. */
const minPrefixBits = 8
const maxPrefixBits = 30
/** Room for those who choose addresses themselves: at least 16, at most 256, of the first addresses. */
const minReserved = 16
const maxReserved = 256
const reservedDivisor = 16
/** After so many misses the range is nearly full, and searching in order is faster. */
const maxRandomTries = 64

export class ServiceRange {
  readonly cidr: string
  readonly #base: number
  /** Usable addresses, which neither the first nor the last of the range are. */
  readonly #count: number

  constructor(cidr: string) {
    const [address = '', bitsText = ''] = cidr.split('/')
    const bits = Number(bitsText)
    if (!isIPv4(address) || !/^[0-9]+$/.test(bitsText) || bits < minPrefixBits || bits > maxPrefixBits) {
      const wanted = `an IPv4 range with a prefix of ${minPrefixBits} to ${maxPrefixBits} bits, such as 10.96.0.0/16`
      throw new RangeError(`the service range ${JSON.stringify(cidr)} is not ${wanted}`)
    }
    const size = 2 ** (32 - bits)
    this.#base = Math.floor(toNumber(address) / size) * size
    this.#count = size - 2
    this.cidr = `${toAddress(this.#base)}/${bits}`
  }

  /** The first usable address: that of `default/kubernetes`. */
  get first(): string {
    return toAddress(this.#base + 1)
  }

  contains(address: string): boolean {
    if (!isIPv4(address)) return false
    const offset = toNumber(address) - this.#base
    return offset >= 1 && offset <= this.#count
  }

  /** A free address: from the upper part while there is one there, because the lower one is for those who choose. */
  pick(isFree: (address: string) => boolean): string | undefined {
    const reserved = reservedOf(this.#count + 2)
    return this.#pickBetween(reserved + 1, this.#count, isFree) ?? this.#pickBetween(1, reserved, isFree)
  }

  #pickBetween(from: number, to: number, isFree: (address: string) => boolean): string | undefined {
    if (to < from) return undefined
    for (let attempt = 0; attempt < maxRandomTries; attempt++) {
      const address = toAddress(this.#base + randomInt(from, to + 1))
      if (isFree(address)) return address
    }
    for (let offset = from; offset <= to; offset++) {
      const address = toAddress(this.#base + offset)
      if (isFree(address)) return address
    }
    return undefined
  }
}

function reservedOf(size: number): number {
  const reserved = Math.min(maxReserved, Math.max(minReserved, Math.floor(size / reservedDivisor)))
  return reserved >= size - 2 ? 0 : reserved
}

function toNumber(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

function toAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.')
}
