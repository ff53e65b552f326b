/**
 * How much of LMDB's file nobody uses. LMDB does not count its free pages, but it counts those of each tree: what belongs
 * to no tree is free, or will be as soon as the readers of this turn are done.
 */
import type { Database } from 'lmdb'

/** The two pages at the beginning of the file. */
const metaPages = 2

interface TreeStats {
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

/** What the package's `getStats` returns; its types do not tell. */
interface TableStats extends TreeStats {
  readonly pageSize: number
  readonly lastPageNumber: number
  /** The tree of LMDB's own that lists free pages. */
  readonly free: TreeStats
}

type AnyTable = Pick<Database, 'getStats'>

/** A few look-ups, however large the file. `root` names the tables, which are all there are. */
export function freeBytesIn(root: AnyTable, tables: Iterable<AnyTable>): number {
  const whole = statsOf(root)
  let usedPages = metaPages + pagesOf(whole) + pagesOf(whole.free)
  for (const table of tables) usedPages += pagesOf(statsOf(table))
  // A transaction that ends between two look-ups may make the difference negative for a moment.
  return Math.max(0, whole.lastPageNumber + 1 - usedPages) * whole.pageSize
}

function statsOf(table: AnyTable): TableStats {
  return table.getStats() as TableStats
}

function pagesOf({ treeBranchPageCount, treeLeafPageCount, overflowPages }: TreeStats): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages
}
