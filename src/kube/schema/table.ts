/**
 * The on-disk form of the generated schema tables under `data/schema/`: one file per protobuf package, read only when a
 * message of that package is first needed. `tools/generate` writes them, `schema.ts` turns them into message types.
 */

/** Facts that patch engines, server-side apply and OpenAPI need; absent where Kubernetes says nothing. */
export interface FieldFacts {
  /** `atomic`, `set` or `map`. */
  listType?: string
  /** The keys that tell the items of a `map` list apart. */
  mapKeys?: string[]
  /** `atomic` or `granular`, for maps and structs. */
  mapType?: string
  /** Strategic merge: `merge`, `replace`, `retainKeys`, or a comma-separated pair. */
  patchStrategy?: string
  mergeKey?: string
  default?: unknown
}

/**
 * `[jsonName, number, type, flags?, facts?]`, in the order in which an API server prints the fields.
 *
 * - type: `s` string, `b` bool, `i` int32, `l` int64, `d` double, `y` bytes, `Name` a message of this package,
 *   `3.Name` a message of the fourth imported package; with `[]` in front a list, with `{}` a map with string keys.
 * - flags: `*` may be null (a Go pointer), `e` omitted when empty, `z` omitted when zero, `+` inlined into the parent
 *   (its jsonName is empty), `r` required.
 */
export type FieldRow = [jsonName: string, number: number, type: string, flags?: string, facts?: FieldFacts]

/** A list of fields; or the type of a list that protobuf wraps in a message; or null for a hand-written codec. */
export type MessageRow = FieldRow[] | string | null

export interface PackageTable {
  /** The API group, empty for core; null for packages that are no API group. */
  group: string | null
  version: string
  /** Messages that are API kinds: they carry apiVersion and kind. */
  kinds: string[]
  imports: string[]
  messages: Record<string, MessageRow>
}

/** `data/schema/index.json`: from `group/version` (or `v1`) to the package that defines its kinds. */
export interface SchemaIndex {
  kubernetesVersion: string
  packages: Record<string, string>
}
