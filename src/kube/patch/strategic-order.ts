/**
 * The order of a merged list. Items that the patch names come in the order of the patch; the others, which only the
 * server knows of, keep the order they had; and the two are woven together so that an item of the server stays in
 * front of a named one that it stood in front of before. Where nothing tells, the named items come first.
 */

/** What identifies an item: the item itself in a list of scalars, the value of its merge key in a list of objects. */
export type IdentityOf = (item: unknown) => unknown

/** `named` gives the order of the patch, `live` the order that the list had. */
export function orderItems(
  items: readonly unknown[],
  named: readonly unknown[],
  live: readonly unknown[],
  identityOf: IdentityOf,
): unknown[] {
  const namedRanks = ranks(named, identityOf)
  const liveRanks = ranks(live, identityOf)
  const isNamed = (item: unknown): boolean => namedRanks.has(identityOf(item))
  const fromPatch = sortByRank(items.filter(isNamed), namedRanks, identityOf)
  const fromServer = sortByRank(
    items.filter((item) => !isNamed(item)),
    liveRanks,
    identityOf,
  )
  return weave(fromServer, fromPatch, (item) => liveRanks.get(identityOf(item)))
}

function ranks(items: readonly unknown[], identityOf: IdentityOf): Map<unknown, number> {
  const found = new Map<unknown, number>()
  for (const [rank, item] of items.entries()) {
    const identity = identityOf(item)
    if (!found.has(identity)) found.set(identity, rank)
  }
  return found
}

/** Items without a rank are new and not in the order list, which only a hand-written patch does: they come last. */
function sortByRank(items: readonly unknown[], ranked: Map<unknown, number>, identityOf: IdentityOf): unknown[] {
  const rankOf = (item: unknown): number | undefined => ranked.get(identityOf(item))
  const placed = items.filter((item) => rankOf(item) !== undefined)
  const unplaced = items.filter((item) => rankOf(item) === undefined)
  placed.sort((a, b) => (rankOf(a) ?? 0) - (rankOf(b) ?? 0))
  return [...placed, ...unplaced.reverse()]
}

function weave(
  fromServer: readonly unknown[],
  fromPatch: readonly unknown[],
  liveRankOf: (item: unknown) => number | undefined,
): unknown[] {
  const stoodBefore = (one: unknown, other: unknown): boolean => {
    const [rank, otherRank] = [liveRankOf(one), liveRankOf(other)]
    return rank !== undefined && otherRank !== undefined && rank < otherRank
  }
  const woven: unknown[] = []
  let next = 0
  for (const item of fromPatch) {
    while (next < fromServer.length && stoodBefore(fromServer[next], item)) woven.push(fromServer[next++])
    woven.push(item)
  }
  return [...woven, ...fromServer.slice(next)]
}
