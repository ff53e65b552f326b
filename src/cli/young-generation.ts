/**
 * The part of V8's heap in which objects are made, and whether it may grow.
 *
 * V8 doubles it, to two halves of 16 MiB at most, whenever as much has stayed alive in it as it can hold. Loading code makes
 * little but what stays, so a process would begin its work with 10 to 20 MiB that are resident and empty, and have them until
 * it has been idle for a quarter of a minute.
 */
import { setFlagsFromString } from 'node:v8'

/** V8 looks at the factor whenever it is about to grow. The start of a worker thread sets it back to the one below. */
export function holdYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** From here on as V8 does by itself: under load a larger one has less to copy. */
export function letYoungGenerationGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
