/** What a terminating namespace says about why it is still there, in the words that clients know. */
import type { KubeObject } from '../../kube/objects.ts'
import { sameValue } from '../kinds/equality.ts'
import { struct, structs, text } from '../kinds/fields.ts'

/** What is left in a namespace, and what went wrong on the way. */
export interface Remains {
  /** Objects by `resource.group`, such as `pods.` or `leases.coordination.k8s.io`. */
  readonly objects: ReadonlyMap<string, number>
  readonly finalizers: ReadonlyMap<string, number>
  readonly failures: readonly string[]
}

interface Verdict {
  readonly reason: string
  readonly message: string
}

interface ConditionRule {
  readonly type: string
  readonly fine: Verdict
  /** undefined when there is nothing to complain about. */
  readonly trouble: (remains: Remains) => Verdict | undefined
}

const never = (): undefined => undefined

const rules: readonly ConditionRule[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    fine: { reason: 'ResourcesDiscovered', message: 'All resources successfully discovered' },
    trouble: never,
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    fine: { reason: 'ParsedGroupVersions', message: 'All legacy kube types successfully parsed' },
    trouble: never,
  },
  {
    type: 'NamespaceDeletionContentFailure',
    fine: {
      reason: 'ContentDeleted',
      message: 'All content successfully deleted, may be waiting on finalization',
    },
    trouble({ failures }) {
      if (failures.length === 0) return undefined
      const list = failures.toSorted().join(', ')
      const message = `Failed to delete all resource types, ${failures.length} remaining: ${list}`
      return { reason: 'ContentDeletionFailed', message }
    },
  },
  {
    type: 'NamespaceContentRemaining',
    fine: { reason: 'ContentRemoved', message: 'All content successfully removed' },
    trouble({ objects }) {
      if (objects.size === 0) return undefined
      const list = counted(objects, (name, count) => `${name} has ${count} resource instances`)
      return { reason: 'SomeResourcesRemain', message: `Some resources are remaining: ${list}` }
    },
  },
  {
    type: 'NamespaceFinalizersRemaining',
    fine: { reason: 'ContentHasNoFinalizers', message: 'All content-preserving finalizers finished' },
    trouble({ finalizers }) {
      if (finalizers.size === 0) return undefined
      const list = counted(finalizers, (name, count) => `${name} in ${count} resource instances`)
      const message = `Some content in the namespace has finalizers remaining: ${list}`
      return { reason: 'SomeFinalizersRemain', message }
    },
  },
]

function counted(counts: ReadonlyMap<string, number>, print: (name: string, count: number) => string): string {
  return [...counts]
    .map(([name, count]) => print(name, count))
    .sort()
    .join(', ')
}

/** The namespace with its conditions up to date; undefined when they are. Conditions of others are kept. */
export function withConditions(namespace: KubeObject, remains: Remains, now: string): KubeObject | undefined {
  const status = struct(namespace, 'status') ?? {}
  const before = structs(status, 'conditions')
  const present = new Map(before.map((condition) => [text(condition, 'type'), condition]))
  for (const { type, fine, trouble } of rules) {
    const found = trouble(remains)
    const next = { type, status: found === undefined ? 'False' : 'True', ...(found ?? fine) }
    const old = present.get(type)
    const isSameStatus = old !== undefined && text(old, 'status') === next.status
    present.set(type, { ...next, lastTransitionTime: isSameStatus ? old['lastTransitionTime'] : now })
  }
  const conditions = [...present.values()]
  return sameValue(conditions, before) ? undefined : { ...namespace, status: { ...status, conditions } }
}
