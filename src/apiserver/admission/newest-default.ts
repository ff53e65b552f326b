/** Classes of storage and of ingress are made the default by an annotation. Nothing keeps two from having it. */
import type { Reading } from './lookup.ts'

/** What is to know of a class to choose the default. */
export interface ClassFacts {
  readonly name: string
  readonly madeAt: string
  readonly isMarked: boolean
}

/** By any of these annotations. */
export function defaultReading(marks: readonly string[]): Reading<ClassFacts> {
  return {
    read: ({ metadata: { name = '', creationTimestamp = '', annotations = {} } = {} }) => ({
      name,
      madeAt: creationTimestamp,
      isMarked: marks.some((mark) => annotations[mark] === 'true'),
    }),
    isKept: () => true,
  }
}

/** The name of the newest of the marked ones; of equally new ones, that of the first name. */
export function newestDefault(classes: Iterable<ClassFacts>): string | undefined {
  const marked = [...classes]
    .filter(({ isMarked }) => isMarked)
    .sort((one, other) => {
      if (one.madeAt !== other.madeAt) return one.madeAt > other.madeAt ? -1 : 1
      return one.name < other.name ? -1 : 1
    })
  return marked[0]?.name
}
