/** Work that goes on for as long as its part runs. */
import type { RunningPart } from './lifecycle.ts'

/** `run` has to resolve soon after its signal aborts; what it rejects with is the failure of the stop. */
export function inBackground(run: (signal: AbortSignal) => Promise<void>): RunningPart {
  const ending = new AbortController()
  const running = run(ending.signal)
  return {
    stop: async () => {
      ending.abort(new Error('the process is stopping'))
      await running
    },
  }
}
