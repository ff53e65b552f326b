/** Several parts that start and stop as one: in order, and in the reverse order. */
import type { Part, RunningPart } from './lifecycle.ts'

/** If one does not start, those before it are stopped again and its error is thrown. */
export async function startInOrder(
  parts: readonly Part[],
  signal: AbortSignal,
  fail: (cause: unknown) => void,
): Promise<RunningPart> {
  const running: RunningPart[] = []
  try {
    for (const part of parts) running.push(await part.start(signal, fail))
  } catch (error) {
    await stopInReverse(running, AbortSignal.abort()).catch(() => {})
    throw error
  }
  return { stop: (deadline) => stopInReverse(running, deadline) }
}

/** One that cannot stop keeps none of the others from being stopped; its error is thrown after that. */
export async function stopInReverse(running: readonly RunningPart[], deadline: AbortSignal): Promise<void> {
  const errors: unknown[] = []
  for (const part of running.toReversed()) await part.stop(deadline).catch((error: unknown) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}
