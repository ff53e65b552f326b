/** For ends that everybody has to hear of: one who fails must not keep it from the others. */

/** Calls each; throws what the first of those that failed has thrown, once all have been called. */
export function callAll(actions: Iterable<() => void>): void {
  const errors: unknown[] = []
  for (const action of actions) {
    try {
      action()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
