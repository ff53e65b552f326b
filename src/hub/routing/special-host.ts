/**
 * Hosts that mean something else on every machine: itself, its link, a group of receivers, whoever hands out the credentials
 * of its cloud. Nobody can carry a connection there for somebody else.
 */
import { isLoopbackAddress, isSpecialAddress } from '../../network/special-address.ts'
import type { DestinationHost } from './destination.ts'

/** As machines call themselves in `/etc/hosts`; all names below `localhost` are loopback too (RFC 6761). */
const loopbackName = /(^|\.)localhost$|^localhost[46]?(\.localdomain[46]?)?$|^ip6-(localhost|loopback)$/
/** 240.0.0.0/4 without the broadcast address: reserved by the book, yet there are clusters that give it to pods. */
const reserved = /^(24\d|25[0-5])\.(?!255\.255\.255$)/

export function isSpecialHost({ kind, text }: DestinationHost): boolean {
  if (kind === 'name') return loopbackName.test(text)
  return isSpecialAddress(text) && !reserved.test(text)
}

export function isLoopbackHost({ kind, text }: DestinationHost): boolean {
  return kind === 'name' ? loopbackName.test(text) : isLoopbackAddress(text)
}
