/** The addresses that this machine has at the moment. */
import { networkInterfaces } from 'node:os'

export function addressesOfThisMachine(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address))
}
