/**
 * Which cluster a client came for. With one cluster every name leads to it, and none at all does too. With several, only
 * their own names do; who names none, as clients do that were given an IP address, gets the default one if there is one.
 */
import { Refusal } from '../refusal.ts'
import type { ChooseDoor, ClusterDoor } from './connection.ts'

export interface NamedDoor {
  readonly door: ClusterDoor
  /** DNS names by which clients ask for it; not needed if it is the only one. */
  readonly serverNames: readonly string[]
  readonly isDefault: boolean
}

export function doorChooser(doors: readonly NamedDoor[]): ChooseDoor {
  const [first, second] = doors
  if (first !== undefined && second === undefined) return () => first.door
  const byName = new Map(doors.flatMap(({ door, serverNames }) => serverNames.map((name) => [canonical(name), door])))
  const unnamed = doors.find(({ isDefault }) => isDefault)?.door
  return (serverName) => {
    if (serverName !== undefined) return byName.get(canonical(serverName)) ?? unknown(serverName)
    return unnamed ?? refusedWithoutName()
  }
}

function canonical(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

function unknown(serverName: string): Refusal {
  return new Refusal('unknown-cluster', `this hub serves no cluster by the name ${JSON.stringify(serverName)}`)
}

function refusedWithoutName(): Refusal {
  return new Refusal(
    'unknown-cluster',
    'this hub serves several clusters and tells them apart by name; use the DNS name of yours in the URL, not an IP address',
  )
}
