/**
 * Keeps what the listeners of an emitter throw from whoever emits. Node emits out of its own machinery, where nobody catches: a
 * listener that throws there ends the process, or leaves a parser or a stream in the middle of something.
 */
import type { EventEmitter } from 'node:events'

type Emit = (event: string | symbol, ...given: unknown[]) => boolean

/** `caught` hears what was thrown, and what the listener had been given. An `error` that nobody listens for counts too. */
export function guardEmitter(emitter: EventEmitter, caught: (error: unknown, given: unknown[]) => void): void {
  const emit: Emit = emitter.emit.bind(emitter)
  const guarded: Emit = (event, ...given) => {
    if (event === 'close') return tellAll(emitter, given, caught)
    try {
      return emit(event, ...given)
    } catch (error) {
      caught(error, given)
      return true
    }
  }
  emitter.emit = guarded
}

/** The end is told to everybody, whoever fails before them: this is where places are given back. */
function tellAll(emitter: EventEmitter, given: unknown[], caught: (error: unknown, given: unknown[]) => void): boolean {
  const listeners = emitter.rawListeners('close')
  for (const listener of listeners) {
    try {
      Reflect.apply(listener, emitter, given)
    } catch (error) {
      caught(error, given)
    }
  }
  return listeners.length > 0
}
