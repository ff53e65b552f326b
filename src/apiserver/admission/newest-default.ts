/** Classes of storage and of ingress are made the default by an annotation. Nothing keeps two from having it. */
import type { KubeObject } from '../../kube/objects.ts'

/** The name of the newest of the marked objects; of equally new ones, that of the first name. */
export function newestDefault(classes: readonly KubeObject[], marks: readonly string[]): string | undefined {
  const marked = classes
    .map(({ metadata = {} }) => metadata)
    .filter(({ annotations = {} }) => marks.some((mark) => annotations[mark] === 'true'))
    .sort((a, b) => {
      const [made, other] = [a.creationTimestamp ?? '', b.creationTimestamp ?? '']
      if (made !== other) return made > other ? -1 : 1
      return (a.name ?? '') < (b.name ?? '') ? -1 : 1
    })
  return marked[0]?.name
}
