/**
 * Collections by pattern, as `--feeds-include` and `--feeds-exclude` have them: `RESOURCE[.GROUP][/NAMESPACE]`, with `*` for any
 * resource or any namespace. Without a group it is any group; without a namespace it is all of them, and also what is read
 * across all namespaces at once or is in none. With a namespace it is about reads of that namespace alone.
 */
import { listGroupVersions, type ResourceRow } from '../../kube/schema/catalogue.ts'

/** As much of a collection as patterns look at; the namespace is empty for all of them, and for what is in none. */
export interface NamedCollection {
  readonly apiGroup: string
  readonly resource: string
  readonly namespace: string
}

/** Undefined stands for any. */
export interface FeedPattern {
  readonly resource: string | undefined
  readonly group: string | undefined
  readonly namespace: string | undefined
}

/** The text is no pattern, or one that nothing could ever match. */
export class FeedPatternError extends Error {
  override readonly name = 'FeedPatternError'
}

const any = '*'
const label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?'
const resourceText = new RegExp(`^(?<resource>\\*|${label})(?:\\.(?<group>${label}(?:\\.${label})*))?$`)
const namespaceText = new RegExp(`^${label}$`)
/** As long as Kubernetes lets a label of a DNS name be. */
const MAX_NAMESPACE_LENGTH = 63

/** `suggest` is given an unknown name and the known ones and says, as the end of a sentence, which may have been meant. */
export function parseFeedPatterns(
  texts: readonly string[],
  suggest: (unknown: string, known: readonly string[]) => string,
): FeedPattern[] {
  return texts.map((text) => parse(text, suggest))
}

export function matches({ resource, group, namespace }: FeedPattern, collection: NamedCollection): boolean {
  if (resource !== undefined && resource !== collection.resource) return false
  if (group !== undefined && group !== collection.apiGroup) return false
  return namespace === undefined || namespace === collection.namespace
}

function parse(text: string, suggest: (unknown: string, known: readonly string[]) => string): FeedPattern {
  const [what = '', within, ...rest] = text.split('/')
  const found = resourceText.exec(what)?.groups
  if (found === undefined || rest.length > 0)
    throw new FeedPatternError(
      `${JSON.stringify(text)} is no pattern of the form RESOURCE[.GROUP][/NAMESPACE], such as secrets/kube-system, ` +
        'leases.coordination.k8s.io or */shop; resources are plural and in lower case',
    )
  const { resource = any, group } = found
  const namespace = readNamespace(text, within)
  if (group === undefined && resource !== any) checkBuiltIn(resource, namespace, suggest)
  return { resource: resource === any ? undefined : resource, group, namespace }
}

function readNamespace(text: string, within: string | undefined): string | undefined {
  if (within === undefined || within === any) return undefined
  if (within.length <= MAX_NAMESPACE_LENGTH && namespaceText.test(within)) return within
  throw new FeedPatternError(`${JSON.stringify(within)} in ${JSON.stringify(text)} is no name of a namespace`)
}

/** A name without a group must be one that Kubernetes has: a typing error would otherwise never match, in silence. */
function checkBuiltIn(
  resource: string,
  namespace: string | undefined,
  suggest: (unknown: string, known: readonly string[]) => string,
): void {
  const rows = listGroupVersions()
    .flatMap(({ resources }): ResourceRow[] => resources)
    .filter(({ verbs }) => verbs.includes('get') || verbs.includes('list'))
  const named = rows.filter((row) => row.resource === resource)
  if (named.length === 0) {
    const plurals = [...new Set(rows.map((row) => row.resource))].toSorted()
    throw new FeedPatternError(
      `Kubernetes has no resource "${resource}" of its own, and one of a cluster's is written with its group, as ` +
        `${resource}.example.com${suggest(resource, plurals)}`,
    )
  }
  if (namespace !== undefined && named.every(({ namespaced }) => !namespaced))
    throw new FeedPatternError(`${resource} are in no namespace; leave out "/${namespace}"`)
}
